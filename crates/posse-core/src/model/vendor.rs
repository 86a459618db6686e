//! The providers that are built in, as rows.

use crate::message::Api;

/// A provider that needs no configuration but a key.
#[derive(Debug)]
pub struct Vendor {
    /// Its name, before the slash of a model.
    pub name: &'static str,
    /// What it speaks.
    pub api: Api,
    /// Where it is reached.
    pub base_url: &'static str,
    /// The variable that names another place, as its own tools read it.
    pub base_url_env: Option<&'static str>,
    /// What is added to the value of that variable.
    pub base_url_suffix: &'static str,
    /// The variables that hold a key, the first that is set counting; none where no key is needed.
    pub key_envs: &'static [&'static str],
    /// Beginnings of model names that are this vendor's own.
    pub prefixes: &'static [&'static str],
    /// For a server of this machine: the path that lists its models.
    pub models_path: Option<&'static str>,
}

/// In the order in which they are taken when nothing says which.
pub const VENDORS: &[Vendor] = &[
    Vendor {
        name: "anthropic",
        api: Api::Anthropic,
        base_url: "https://api.anthropic.com",
        base_url_env: Some("ANTHROPIC_BASE_URL"),
        base_url_suffix: "",
        key_envs: &["ANTHROPIC_API_KEY"],
        prefixes: &["claude-"],
        models_path: None,
    },
    Vendor {
        name: "openai",
        api: Api::OpenaiResponses,
        base_url: "https://api.openai.com/v1",
        base_url_env: Some("OPENAI_BASE_URL"),
        base_url_suffix: "",
        key_envs: &["OPENAI_API_KEY"],
        prefixes: &["gpt-", "o1", "o3", "o4", "codex-", "chatgpt-"],
        models_path: None,
    },
    Vendor {
        name: "gemini",
        api: Api::Gemini,
        base_url: "https://generativelanguage.googleapis.com",
        base_url_env: Some("GOOGLE_GEMINI_BASE_URL"),
        base_url_suffix: "",
        key_envs: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        prefixes: &["gemini-"],
        models_path: None,
    },
    Vendor {
        name: "openrouter",
        api: Api::OpenaiChat,
        base_url: "https://openrouter.ai/api/v1",
        base_url_env: None,
        base_url_suffix: "",
        key_envs: &["OPENROUTER_API_KEY"],
        prefixes: &[],
        models_path: None,
    },
    Vendor {
        name: "ollama",
        api: Api::OpenaiChat,
        base_url: "http://127.0.0.1:11434/v1",
        base_url_env: Some("OLLAMA_HOST"),
        base_url_suffix: "/v1",
        key_envs: &[],
        prefixes: &[],
        models_path: Some("/models"),
    },
    Vendor {
        name: "lmstudio",
        api: Api::OpenaiChat,
        base_url: "http://127.0.0.1:1234/v1",
        base_url_env: None,
        base_url_suffix: "",
        key_envs: &[],
        prefixes: &[],
        models_path: Some("/models"),
    },
    Vendor {
        name: "llamacpp",
        api: Api::OpenaiChat,
        base_url: "http://127.0.0.1:8080/v1",
        base_url_env: None,
        base_url_suffix: "",
        key_envs: &[],
        prefixes: &[],
        models_path: Some("/models"),
    },
];
