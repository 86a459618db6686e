//! The providers of a process: which there are, what their keys are, and the way to each.
//!
//! The only room that holds secret values; it hands out providers, and names.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use posse_core::message::Api;
use posse_core::model::{FoundServer, ModelChoice, ModelWorld, ProviderEntry, VENDORS, Vendor};
use posse_core::plan::Settings;
use serde_json::Value;

use crate::provider::http::HttpProvider;
use crate::provider::transport::{Transport, client_builder};
use crate::provider::{Provider, protocol};

/// How long a server of this machine may take to say that it is there.
const PROBE_MAX: Duration = Duration::from_millis(400);

/// Providers with their secrets.
#[derive(Clone)]
pub struct Providers {
    entries: Vec<ProviderEntry>,
    keys: BTreeMap<String, String>,
    headers: BTreeMap<String, Vec<(String, String)>>,
    transport: Transport,
}

impl std::fmt::Debug for Providers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Providers").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl Providers {
    /// Those that are built in and configured, with the keys that `variable` knows.
    pub fn new(
        settings: &Settings,
        variable: &dyn Fn(&str) -> Option<String>,
        transport: Transport,
    ) -> Providers {
        let mut providers =
            Providers { entries: Vec::new(), keys: BTreeMap::new(), headers: BTreeMap::new(), transport };
        for vendor in VENDORS {
            providers.add_vendor(vendor, settings, variable);
        }
        let mut names: Vec<&str> =
            settings.below("providers").filter_map(|(rest, _)| rest.split('.').next()).collect();
        names.dedup();
        for name in names.into_iter().filter(|name| VENDORS.iter().all(|vendor| vendor.name != *name)) {
            providers.add_configured(name, settings, variable);
        }
        providers
    }

    fn add_vendor(
        &mut self,
        vendor: &Vendor,
        settings: &Settings,
        variable: &dyn Fn(&str) -> Option<String>,
    ) {
        let setting =
            |key: &str| settings.text(&format!("providers.{}.{key}", vendor.name)).map(|(text, _)| text);
        let from_variable = vendor.base_url_env.and_then(variable).filter(|url| !url.is_empty());
        let base_url = from_variable
            .map(|url| with_suffix(&url, vendor.base_url_suffix))
            .or_else(|| setting("base_url").map(str::to_owned))
            .unwrap_or_else(|| vendor.base_url.to_owned());
        let set = |name: &&str| variable(name).is_some_and(|key| !key.is_empty());
        let own = vendor.key_envs.iter().copied().find(|name| set(name)).or(vendor.key_envs.first().copied());
        let key_env = setting("api_key_env").or(own).map(str::to_owned);
        let api = setting("api").and_then(Api::parse).unwrap_or(vendor.api);
        let is_local_server = vendor.models_path.is_some();
        self.add(vendor.name, (api, base_url, key_env, is_local_server), settings, variable);
    }

    fn add_configured(&mut self, name: &str, settings: &Settings, variable: &dyn Fn(&str) -> Option<String>) {
        let setting = |key: &str| settings.text(&format!("providers.{name}.{key}")).map(|(text, _)| text);
        let Some(base_url) = setting("base_url") else { return };
        let api = setting("api").and_then(Api::parse).unwrap_or(Api::OpenaiChat);
        let key_env = setting("api_key_env").map(str::to_owned);
        self.add(name, (api, base_url.to_owned(), key_env, false), settings, variable);
    }

    fn add(
        &mut self,
        name: &str,
        (api, base_url, api_key_env, is_local_server): (Api, String, Option<String>, bool),
        settings: &Settings,
        variable: &dyn Fn(&str) -> Option<String>,
    ) {
        let key = api_key_env.as_deref().and_then(variable).filter(|key| !key.is_empty());
        let table = format!("providers.{name}.headers");
        let headers: Vec<(String, String)> = settings
            .below(&table)
            .filter_map(|(header, setting)| Some((header.to_owned(), setting.value.as_str()?.to_owned())))
            .collect();
        self.entries.push(ProviderEntry {
            name: name.to_owned(),
            api,
            base_url: base_url.trim_end_matches('/').to_owned(),
            api_key_env,
            has_key: key.is_some(),
            headers: headers.iter().map(|(header, _)| header.clone()).collect(),
            is_local_server,
        });
        if let Some(key) = key {
            self.keys.insert(name.to_owned(), key);
        }
        if !headers.is_empty() {
            self.headers.insert(name.to_owned(), headers);
        }
    }

    /// The same providers over another way.
    #[must_use]
    pub fn with_transport(mut self, transport: Transport) -> Providers {
        self.transport = transport;
        self
    }

    /// What there is, for planning; servers of this machine have not been looked for.
    pub fn world(&self) -> ModelWorld {
        ModelWorld { providers: self.entries.clone(), servers: None, callers: None, recorded: None }
    }

    /// Every provider, without secrets.
    pub fn entries(&self) -> &[ProviderEntry] {
        &self.entries
    }

    /// The values that must not be shown, each with the name of what holds it.
    pub fn secrets(&self) -> Vec<(String, String)> {
        let of_entry = |name: &String| self.entries.iter().find(|entry| entry.name == *name);
        let keys = self.keys.iter().map(|(name, key)| {
            let variable = of_entry(name).and_then(|entry| entry.api_key_env.clone());
            (variable.unwrap_or_else(|| name.clone()), key.clone())
        });
        let headers = self.headers.iter().flat_map(|(name, headers)| {
            headers.iter().map(move |(header, value)| (format!("{name} {header}"), value.clone()))
        });
        keys.chain(headers).filter(|(_, secret)| secret.len() >= 8).collect()
    }

    /// The way to a model.
    pub fn open(&self, model: &ModelChoice) -> Result<Box<dyn Provider>, String> {
        let Some(protocol) = protocol(model.api) else {
            return Err(format!("nothing here answers for `{}`", model.provider));
        };
        let replays = matches!(self.transport, Transport::Replay { .. });
        let key = self.keys.get(&model.provider).map(String::as_str);
        if let (None, Some(variable), false) = (key, &model.api_key_env, replays) {
            return Err(format!("`{}` needs a key: {variable} is not set", model.provider));
        }
        let headers = self.headers.get(&model.provider).cloned().unwrap_or_default();
        let provider = HttpProvider::new(protocol, self.transport.clone(), &model.base_url, key, headers)?;
        Ok(Box::new(provider))
    }

    /// Looks for model servers of this machine, at their usual places and nowhere else.
    pub async fn find_servers(&self) -> Vec<FoundServer> {
        let vendors = VENDORS.iter().filter(|vendor| vendor.models_path.is_some());
        let mut found = Vec::new();
        for vendor in vendors {
            let entry = self.entries.iter().find(|entry| entry.name == vendor.name);
            let path = vendor.models_path.unwrap_or_default();
            let Some(entry) = entry.filter(|entry| is_loopback(&entry.base_url)) else { continue };
            if let Ok(models) = list_models(&format!("{}{path}", entry.base_url), PROBE_MAX).await
                && let Some(model) = models.into_iter().next()
            {
                found.push(FoundServer { provider: vendor.name.to_owned(), model });
            }
        }
        found
    }
}

/// The models that a server lists.
pub async fn list_models(url: &str, patience: Duration) -> Result<Vec<String>, String> {
    let client = client_builder()
        .timeout(patience)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| error.to_string())?;
    let response = client.get(url).send().await.map_err(|error| error.to_string())?;
    let bytes = response.bytes().await.map_err(|error| error.to_string())?;
    let body: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    let models = body.get("data").or_else(|| body.get("models")).and_then(Value::as_array);
    let name = |model: &Value| {
        let name = model.get("id").or_else(|| model.get("name")).and_then(Value::as_str);
        name.map(str::to_owned)
    };
    models
        .map(|models| models.iter().filter_map(name).collect())
        .ok_or_else(|| "no list of models".to_owned())
}

/// Whether anything answers HTTP there.
pub async fn reach(url: &str, patience: Duration) -> Result<(), String> {
    let client = client_builder()
        .timeout(patience)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| error.to_string())?;
    client.get(url).send().await.map(drop).map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        cause.unwrap_or_else(|| error.to_string())
    })
}

fn is_loopback(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// `OLLAMA_HOST` is `host:port`, with or without what a URL has around it.
fn with_suffix(url: &str, suffix: &str) -> String {
    let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let url = url.trim_end_matches('/');
    if url.ends_with(suffix) { url.to_owned() } else { format!("{url}{suffix}") }
}
