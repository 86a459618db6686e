//! The search engines that are known: how each is asked, and what of its answer counts.

use serde_json::{Value, json};

use super::{Endpoint, RESULTS_MAX};

/// What a search engine speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// `SearXNG`, one's own.
    Searxng,
    /// Brave's API.
    Brave,
    /// Tavily's API.
    Tavily,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub title: String,
    pub url: String,
    pub excerpt: String,
}

impl EngineKind {
    /// The names in the configuration.
    pub(super) const NAMES: &[&str] = &["searxng", "brave", "tavily"];

    /// The kind of that name.
    pub(super) fn parse(name: &str) -> Option<EngineKind> {
        [EngineKind::Searxng, EngineKind::Brave, EngineKind::Tavily]
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }

    /// The name in the configuration.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            EngineKind::Searxng => "searxng",
            EngineKind::Brave => "brave",
            EngineKind::Tavily => "tavily",
        }
    }

    /// Where it is, unless everybody has their own.
    pub(super) fn url(self) -> Option<&'static str> {
        match self {
            EngineKind::Searxng => None,
            EngineKind::Brave => Some("https://api.search.brave.com/res/v1/web/search"),
            EngineKind::Tavily => Some("https://api.tavily.com/search"),
        }
    }

    /// The variable that holds its key where nothing else is said.
    pub(super) fn key_variable(self) -> Option<&'static str> {
        match self {
            EngineKind::Searxng => None,
            EngineKind::Brave => Some("BRAVE_API_KEY"),
            EngineKind::Tavily => Some("TAVILY_API_KEY"),
        }
    }

    /// A question.
    pub(super) fn request(
        self,
        client: &reqwest::Client,
        endpoint: &Endpoint,
        query: &str,
    ) -> reqwest::RequestBuilder {
        let mut url = endpoint.url.clone();
        let key = endpoint.key.as_deref().unwrap_or_default();
        let count = RESULTS_MAX.to_string();
        match self {
            EngineKind::Searxng => {
                url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
                let request = client.get(url);
                if key.is_empty() { request } else { request.bearer_auth(key) }
            }
            EngineKind::Brave => {
                url.query_pairs_mut().append_pair("q", query).append_pair("count", &count);
                client.get(url).header("x-subscription-token", key).header("accept", "application/json")
            }
            EngineKind::Tavily => {
                let body = json!({ "query": query, "max_results": RESULTS_MAX }).to_string();
                client.post(url).bearer_auth(key).header("content-type", "application/json").body(body)
            }
        }
    }

    /// The results of an answer.
    pub(super) fn read(self, body: &[u8]) -> Result<Vec<Found>, String> {
        let answer: Value = serde_json::from_slice(body)
            .map_err(|_| format!("the search engine's answer is not JSON; is it {}?", self.as_str()))?;
        let (list, excerpt) = match self {
            EngineKind::Searxng | EngineKind::Tavily => ("/results", "content"),
            EngineKind::Brave => ("/web/results", "description"),
        };
        let text = |result: &Value, key: &str| {
            result.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let results = answer.pointer(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let found = results.iter().map(|result| Found {
            title: without_tags(&text(result, "title")),
            url: text(result, "url"),
            excerpt: without_tags(&text(result, excerpt)),
        });
        Ok(found.filter(|found| !found.url.is_empty()).collect())
    }
}

/// The words without the marks that an engine puts around those it was asked for.
fn without_tags(text: &str) -> String {
    text.replace("<strong>", "").replace("</strong>", "")
}
