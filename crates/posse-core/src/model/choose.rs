//! From the name of a model to a model: aliases, roles, tiers, and what is there when nothing is named.
//!
//! A full identifier or `provider/model` is never replaced; a tier that its own vendor cannot serve is
//! taken from the provider in use, which is said aloud.

use super::table::{facts, id_of_display_name, tier_model, vendor_of};
use super::{ModelChoice, ModelWorld, ProviderEntry, VENDORS, Vendor};
use crate::definition::Definition;
use crate::definition::model::{Model, ModelForm};
use crate::plan::{Choice, RECORDING, Refusal, RefusalKind, Request, Settings};
use crate::text::closest;

/// How many aliases may lead to each other.
const ALIASES_MAX: usize = 8;

/// What a run asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A name that somebody wrote.
    Named {
        /// The name.
        name: String,
        /// Where.
        from: String,
    },
    /// Whatever is the default.
    Default,
}

impl Wanted {
    /// What the request, the definition or its dialect asks for, in that order.
    pub fn new(definition: &Definition, request: &Request) -> Wanted {
        let named = |name: &str, from: &str| Wanted::Named { name: name.to_owned(), from: from.to_owned() };
        if let Some(model) = &request.model {
            return named(model, "--model");
        }
        if let Some(model) = &definition.model {
            return named(&model.written, "definition");
        }
        let dialect = definition.dialect;
        match dialect.table().defaults.model {
            Some(model) => named(model, &format!("default of {}", dialect.as_str())),
            None => Wanted::Default,
        }
    }
}

/// The search for a model: what there is, and what was said on the way.
struct Search<'a> {
    world: &'a ModelWorld,
    settings: &'a Settings,
    warnings: &'a mut Vec<String>,
    /// True while `default_model` is looked up, which must not need itself.
    in_default: bool,
}

/// Finds the model; what had to be decided on the way is said in `warnings`.
pub fn choose_model(
    wanted: &Wanted,
    world: &ModelWorld,
    settings: &Settings,
    warnings: &mut Vec<String>,
) -> Result<Choice<ModelChoice>, Refusal> {
    if let Some(recorded) = &world.recorded {
        return Ok(Choice::new(recorded.clone(), RECORDING));
    }
    let mut search = Search { world, settings, warnings, in_default: false };
    match wanted {
        Wanted::Named { name, from } => search.named(name, from, ALIASES_MAX),
        Wanted::Default => search.role("main", "default", ALIASES_MAX),
    }
}

impl Search<'_> {
    fn named(&mut self, name: &str, from: &str, aliases_left: usize) -> Result<Choice<ModelChoice>, Refusal> {
        let name = name.trim();
        if let Some((meant, alias_from)) = self.settings.text(&format!("models.{name}")) {
            if aliases_left == 0 {
                let message = format!("the alias `{name}` leads back to itself ({alias_from})");
                return Err(Refusal::unplannable(message, "let it name a `provider/model`"));
            }
            let from = format!("{from}: alias `{name}` ({alias_from})");
            return self.named(meant, &from, aliases_left - 1);
        }
        let Some(model) = Model::parse(name) else {
            return Err(Refusal::unplannable(format!("an empty model name (from {from})"), "name a model"));
        };
        match &model.form {
            ModelForm::Inherit => match self.world.callers.clone() {
                Some(callers) => self.named(&callers, &format!("{from}: the caller's model"), 0),
                None => self.default_model(),
            },
            ModelForm::Role(role) => self.role(role, from, aliases_left),
            ModelForm::Alias(alias) => self.tier(alias, from, aliases_left),
            ModelForm::Provider { provider, model } => self.at_provider(provider, model, from),
            ModelForm::Display => match id_of_display_name(name) {
                Some(id) => self.by_id(id, from),
                None => Err(unknown(name, from)),
            },
            ModelForm::Id => self.by_id(name, from),
        }
    }

    fn role(&mut self, role: &str, from: &str, aliases_left: usize) -> Result<Choice<ModelChoice>, Refusal> {
        match self.settings.text(&format!("roles.{role}")) {
            Some((meant, role_from)) if aliases_left > 0 => {
                let from = format!("{from}: role `{role}` ({role_from})");
                self.named(meant, &from, aliases_left - 1)
            }
            Some((_, role_from)) => {
                let message = format!("the role `{role}` leads back to itself ({role_from})");
                Err(Refusal::unplannable(message, "let it name a `provider/model`"))
            }
            None => self.default_model(),
        }
    }

    /// A tier, by its own word or by Anthropic's name for it.
    fn tier(&mut self, alias: &str, from: &str, aliases_left: usize) -> Result<Choice<ModelChoice>, Refusal> {
        let (tier, is_anthropics) = match alias {
            "haiku" => ("small", true),
            "sonnet" => ("medium", true),
            "opus" | "fable" => ("large", true),
            "small" | "fast" => ("small", false),
            "medium" => ("medium", false),
            "large" | "best" => ("large", false),
            _ => return self.default_model(),
        };
        if !is_anthropics && self.settings.text(&format!("roles.{tier}")).is_some() {
            return self.role(tier, from, aliases_left);
        }
        let anthropic = self.provider("anthropic").filter(|entry| entry.is_ready());
        if let Some(entry) = anthropic.filter(|_| is_anthropics) {
            let own = tier_model("anthropic", alias).or_else(|| tier_model("anthropic", tier));
            let model = own.expect("the table has every tier of its vendors");
            return Ok(self.choice(entry, model, format!("{from}: `{alias}`")));
        }
        if is_anthropics && self.settings.is_on("strict_models") {
            let message = format!("`{alias}` (from {from}) is Anthropic's, and there is no key for it");
            return Err(Refusal::unplannable(message, "set ANTHROPIC_API_KEY, or strict_models = false"));
        }
        let in_use = self.default_model()?;
        let vendor = &in_use.value.provider;
        let choice = match tier_model(vendor, tier) {
            Some(model) => {
                let entry = self.provider(vendor).expect("a model in use has its provider");
                self.choice(entry, model, format!("{from}: `{alias}`, the tier {tier} of {vendor}"))
            }
            None => Choice::new(in_use.value.clone(), format!("{from}: `{alias}`, {}", in_use.from)),
        };
        if is_anthropics {
            let (provider, model) = (&choice.value.provider, &choice.value.model);
            self.say(format!(
                "`{alias}` (from {from}) is Anthropic's, and there is no key for it: `{provider}/{model}` is asked instead"
            ));
        }
        Ok(choice)
    }

    fn say(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn at_provider(
        &mut self,
        provider: &str,
        model: &str,
        from: &str,
    ) -> Result<Choice<ModelChoice>, Refusal> {
        let Some(entry) = self.provider(provider) else {
            let names: Vec<&str> = self.world.providers.iter().map(|entry| entry.name.as_str()).collect();
            let help = match closest(provider, names.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}/{model}`?"),
                None => format!(
                    "add [providers.{provider}] with `api`, `base_url` and `api_key_env` to your configuration, or use one of {}",
                    names.join(", ")
                ),
            };
            let message = format!("the provider of `{provider}/{model}` (from {from}) is not configured");
            return Err(Refusal::unplannable(message, help));
        };
        if !entry.is_ready() {
            return Err(no_key(entry, &format!("{provider}/{model}"), from));
        }
        Ok(self.choice(entry, model, from.to_owned()))
    }

    fn by_id(&mut self, id: &str, from: &str) -> Result<Choice<ModelChoice>, Refusal> {
        let by_prefix = || {
            let is_its_own = |vendor: &&Vendor| vendor.prefixes.iter().any(|prefix| id.starts_with(prefix));
            VENDORS.iter().find(is_its_own).map(|vendor| vendor.name)
        };
        let Some(vendor) = vendor_of(id).or_else(by_prefix) else { return Err(unknown(id, from)) };
        let entry = self.provider(vendor).ok_or_else(|| unknown(id, from))?;
        if !entry.is_ready() {
            return Err(no_key(entry, id, from));
        }
        Ok(self.choice(entry, id, from.to_owned()))
    }

    /// `default_model`, else the default of the first provider that has a key, else a server of this machine.
    fn default_model(&mut self) -> Result<Choice<ModelChoice>, Refusal> {
        if let Some((name, from)) = self.settings.text("default_model") {
            if self.in_default {
                let message = format!("`default_model` is `{name}` ({from}), which itself needs a default");
                return Err(Refusal::unplannable(message, "write it as `provider/model`"));
            }
            self.in_default = true;
            let found = self.named(name, &format!("default_model ({from})"), ALIASES_MAX);
            self.in_default = false;
            return found;
        }
        let mut keyed = self.world.providers.iter().filter(|entry| entry.has_key);
        if let Some((entry, model)) =
            keyed.find_map(|entry| Some((entry, tier_model(&entry.name, "medium")?)))
        {
            let variable = entry.api_key_env.as_deref().unwrap_or_default();
            return Ok(self.choice(entry, model, format!("{variable} is set")));
        }
        let Some(servers) = &self.world.servers else {
            let (message, help) = ("no model is configured".to_owned(), None);
            return Err(Refusal { kind: RefusalKind::LookForServers, message, help });
        };
        let found = servers.iter().find_map(|server| Some((server, self.provider(&server.provider)?)));
        let Some((server, entry)) = found else { return Err(nothing_there()) };
        let choice = self.choice(entry, &server.model, format!("a server of {} was found", entry.name));
        let (provider, model, place) = (&entry.name, server.model.clone(), &entry.base_url);
        let warning = format!("no model is configured: `{provider}/{model}`, found at {place}, is asked");
        self.say(warning);
        Ok(choice)
    }

    fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.world.providers.iter().find(|entry| entry.name == name)
    }

    fn choice(&self, entry: &ProviderEntry, model: &str, from: String) -> Choice<ModelChoice> {
        let facts = facts(&entry.name, model, self.settings);
        let choice = ModelChoice {
            provider: entry.name.clone(),
            api: entry.api,
            model: model.to_owned(),
            base_url: entry.base_url.clone(),
            api_key_env: entry.api_key_env.clone(),
            headers: entry.headers.clone(),
            context_tokens: facts.context_tokens,
            output_tokens: facts.output_tokens,
            price: facts.price,
            thinking: facts.thinking,
            takes_media: facts.takes_media,
        };
        Choice::new(choice, from)
    }
}

fn no_key(entry: &ProviderEntry, model: &str, from: &str) -> Refusal {
    let variable = entry.api_key_env.as_deref().unwrap_or_default();
    let message = format!("`{model}` (from {from}) needs a key: {variable} is not set");
    Refusal::unplannable(message, format!("set {variable}, or choose another model with --model"))
}

fn unknown(name: &str, from: &str) -> Refusal {
    let message = format!("the model `{name}` (from {from}) is not known");
    let help = "write it as `provider/model`, or give it a meaning in [models] of your configuration";
    Refusal::unplannable(message, help)
}

fn nothing_there() -> Refusal {
    let message = "there is no model to ask: no key is set and no model server runs on this machine";
    let help = "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, start Ollama, LM Studio or llama.cpp, or name a model with --model provider/model";
    Refusal::unplannable(message, help)
}
