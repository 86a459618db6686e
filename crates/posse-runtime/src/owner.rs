//! A process that runs agents, as other processes see it: a lock that is held while it lives, and a socket
//! that wakes it when there is a letter for one of its runs.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use tokio::net::UnixDatagram;

/// How often a lock is made again that another process has removed.
const TRIES_MAX: usize = 16;

/// This process as the owner of runs; the lock is released when it ends, however it ends.
#[derive(Debug)]
pub struct Owner {
    name: String,
    lock: Option<(File, PathBuf)>,
    socket: Option<(UnixDatagram, PathBuf)>,
}

impl Owner {
    /// An owner that no other process can see: for a store that no other process has.
    pub fn unseen() -> Owner {
        Owner { name: new_name(), lock: None, socket: None }
    }

    /// An owner whose lock and socket are in a directory. What dead owners left there is removed.
    pub fn in_directory(directory: &Path) -> io::Result<Owner> {
        std::fs::create_dir_all(directory)?;
        remove_the_dead(directory)?;
        let (name, file, path) = lock(directory)?;
        let socket_path = socket_path(directory, &name);
        // A path that is too long for a socket leaves the owner to look by itself from time to time.
        let socket = UnixDatagram::bind(&socket_path).ok().map(|socket| (socket, socket_path));
        Ok(Owner { name, lock: Some((file, path)), socket })
    }

    /// Its name in the store.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until another process says that there is a letter; `false` when nobody can say so.
    pub(crate) async fn woken(&self) -> bool {
        let Some((socket, _)) = &self.socket else { return false };
        let mut byte = [0; 1];
        socket.recv(&mut byte).await.is_ok()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        for path in self.socket.iter().map(|(_, path)| path).chain(self.lock.iter().map(|(_, path)| path)) {
            // Whoever comes next removes it otherwise.
            drop(std::fs::remove_file(path));
        }
    }
}

/// True while the process of that name lives. Looking changes nothing.
pub fn is_alive(directory: &Path, name: &str) -> bool {
    if name.is_empty() {
        return false;
    }
    match File::open(lock_path(directory, name)) {
        Ok(file) => file.try_lock_shared().is_err(),
        // What cannot be looked at is not dead: nobody may take its runs.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Wakes the process of that name, if it can be woken; it looks by itself otherwise.
pub fn wake(directory: &Path, name: &str) {
    if let Ok(socket) = std::os::unix::net::UnixDatagram::unbound() {
        drop(socket.set_nonblocking(true));
        drop(socket.send_to(&[1], socket_path(directory, name)));
    }
}

/// A new name with its lock, held. A process that starts meanwhile may find the file before it is locked and
/// remove it as a dead one's; then it is made again.
fn lock(directory: &Path) -> io::Result<(String, File, PathBuf)> {
    for _ in 0..TRIES_MAX {
        let name = new_name();
        let path = lock_path(directory, &name);
        let file = OpenOptions::new().create_new(true).write(true).open(&path)?;
        file.lock()?;
        if path.exists() {
            return Ok((name, file, path));
        }
    }
    Err(io::Error::other(format!("{}: a lock does not stay there", directory.display())))
}

fn new_name() -> String {
    format!("{:012x}", fastrand::u64(..) >> 16)
}

fn lock_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.lock"))
}

fn socket_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.sock"))
}

fn remove_the_dead(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let (Some(name), Some("lock")) = (
            path.file_stem().and_then(|name| name.to_str()),
            path.extension().and_then(|kind| kind.to_str()),
        ) else {
            continue;
        };
        // Held while it is removed, so that whoever is about to lock it waits and then sees that it is gone.
        let held = File::open(&path).and_then(|file| Ok(file.try_lock_shared().map(|()| file)?));
        if held.is_ok() {
            drop(std::fs::remove_file(socket_path(directory, name)));
            drop(std::fs::remove_file(&path));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Owner, is_alive};

    #[tokio::test]
    async fn an_owner_is_alive_until_it_is_gone() {
        let directory = tempfile::tempdir().expect("a directory");
        let owner = Owner::in_directory(directory.path()).expect("an owner");
        let name = owner.name().to_owned();
        assert!(is_alive(directory.path(), &name));
        super::wake(directory.path(), &name);
        assert!(owner.woken().await);
        drop(owner);
        assert!(!is_alive(directory.path(), &name));
    }

    #[tokio::test]
    async fn what_the_dead_left_is_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("dead.lock"), "").expect("a file");
        std::fs::write(directory.path().join("dead.sock"), "").expect("a file");
        let owner = Owner::in_directory(directory.path()).expect("an owner");
        let left = std::fs::read_dir(directory.path()).expect("a directory").count();
        assert_eq!(left, 2, "its own lock and socket");
        drop(owner);
    }

    /// A process that starts took a lock that was made and not yet held for a dead one's, and removed it.
    #[tokio::test]
    async fn owners_that_start_at_once_do_not_bury_each_other() {
        let directory = tempfile::tempdir().expect("a directory");
        let runtime = tokio::runtime::Handle::current();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _entered = runtime.enter();
                    for _ in 0..50 {
                        let owner = Owner::in_directory(directory.path()).expect("an owner");
                        assert!(is_alive(directory.path(), owner.name()));
                    }
                });
            }
        });
    }
}
