//! The directories a process works with, decided once from its environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where to look and where to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The working directory.
    pub cwd: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The directory of other tools' configuration.
    pub config: Option<PathBuf>,
    /// Posse's own configuration.
    pub posse_config: Option<PathBuf>,
    /// What Posse remembers between runs.
    pub state: Option<PathBuf>,
    /// What the operator of the machine installed.
    pub managed: PathBuf,
}

impl Places {
    /// Decides from the variables that `variable` knows.
    pub fn from_variables(cwd: PathBuf, variable: impl Fn(&str) -> Option<OsString>) -> Places {
        let directory = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = directory("HOME");
        let below_home = |name: &str| home.as_ref().map(|home| home.join(name));
        let config = directory("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
        let own = directory("POSSE_HOME");
        let posse_config = own.clone().or_else(|| config.as_ref().map(|config| config.join("posse")));
        let state = directory("XDG_STATE_HOME")
            .or_else(|| below_home(".local/state"))
            .map(|state| state.join("posse"));
        Places {
            cwd,
            home,
            config,
            posse_config,
            state: own.map(|own| own.join("state")).or(state),
            managed: "/etc/posse".into(),
        }
    }

    /// The file that transcripts are kept in.
    pub fn store(&self) -> Option<PathBuf> {
        self.state.as_ref().map(|state| state.join("runs.db"))
    }

    /// Where the processes that run agents leave their locks and sockets.
    pub fn owners(&self) -> Option<PathBuf> {
        self.state.as_ref().map(|state| state.join("owners"))
    }

    /// The directories of the project, the nearest first: from the working directory up to the repository's root.
    pub fn project_directories(&self) -> Vec<&Path> {
        let real_home = self.home.as_ref().and_then(|home| home.canonicalize().ok());
        let is_home =
            |path: &&Path| self.home.as_deref() == Some(*path) || real_home.as_deref() == Some(*path);
        let above: Vec<&Path> = self.cwd.ancestors().take_while(|path| !is_home(path)).collect();
        match above.iter().position(|path| path.join(".git").exists()) {
            Some(root) => above[..=root].to_vec(),
            None => above.into_iter().take(1).collect(),
        }
    }

    /// The root of the project.
    pub fn project_root(&self) -> &Path {
        self.project_directories().last().copied().unwrap_or(&self.cwd)
    }

    /// A path as a person would name it: relative to the working directory, or from home.
    pub fn shown(&self, path: &Path) -> String {
        if let Ok(below) = path.strip_prefix(&self.cwd)
            && !below.as_os_str().is_empty()
        {
            return below.display().to_string();
        }
        match self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Places;
    use std::path::PathBuf;

    fn places(cwd: &str, variables: &[(&str, &str)]) -> Places {
        Places::from_variables(PathBuf::from(cwd), |name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into())
        })
    }

    #[test]
    fn one_directory_holds_everything_when_asked() {
        let places = places("/w", &[("HOME", "/h"), ("POSSE_HOME", "/p")]);
        assert_eq!(places.posse_config, Some(PathBuf::from("/p")));
        assert_eq!(places.state, Some(PathBuf::from("/p/state")));
        assert_eq!(places.config, Some(PathBuf::from("/h/.config")));
    }

    #[test]
    fn without_a_home_there_is_no_user_place() {
        let places = places("/w", &[("HOME", "")]);
        assert_eq!((places.home, places.posse_config, places.state), (None, None, None));
    }

    #[test]
    fn the_home_directory_is_not_a_project() {
        assert!(places("/h", &[("HOME", "/h")]).project_directories().is_empty());
    }
}
