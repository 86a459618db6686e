//! The command line: options, and one file a command.

mod check;
mod completions;
mod doctor;
mod init;
mod list;
mod log;
mod man;
mod plan;
mod result;
mod resume;
mod run;
mod runs;
mod schema;
mod show;
mod stop;
mod trust;
mod wait;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};

use posse_runtime::Places;

use crate::app::App;
use crate::error::{CommandError, Kind};
use crate::print::{Level, Printer};

/// Define, check and run subagents, whichever tool they were written for.
#[derive(Debug, Parser)]
#[command(name = "posse", version, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Work as if started in this directory
    #[arg(short = 'C', long, value_name = "DIR", global = true)]
    pub cwd: Option<PathBuf>,
    /// Read this configuration file instead of your own
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Agents for this command only: a JSON object, or @FILE
    #[arg(long, value_name = "JSON|@FILE", global = true)]
    pub agents: Option<String>,
    /// Who asks; agents may admit some callers only [default: cli]
    #[arg(long, value_name = "NAME", global = true)]
    pub caller: Option<String>,
    /// Print one JSON value on stdout and nothing else
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing but results and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more: what was read from where, and every note
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Options),
    List(list::Options),
    Show(show::Options),
    Check(check::Options),
    Trust(trust::Options),
    Plan(plan::Options),
    Run(Box<run::Options>),
    Runs(runs::Options),
    Log(log::Options),
    Result(result::Options),
    Wait(wait::Options),
    Stop(stop::Options),
    Resume(resume::Options),
    Doctor(doctor::Options),
    Schema(schema::Options),
    Completions(completions::Options),
    Man(man::Options),
}

/// Runs the program and gives its exit code.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &arguments),
    };
    let places =
        std::env::current_dir().ok().map(|cwd| Places::from_variables(cwd, |name| std::env::var_os(name)));
    let printer = Printer { level: Level::Normal, json: cli.global.json, places };
    match run(&cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => ExitCode::from(fail(&printer, output(&cli), &error)),
    }
}

/// What the command prints, also when it fails.
fn output(cli: &Cli) -> run::Output {
    let asked = match &cli.command {
        Command::Run(options) => options.output,
        Command::Resume(options) => options.output,
        _ => None,
    };
    asked.unwrap_or(if cli.global.json { run::Output::Json } else { run::Output::Text })
}

fn run(cli: &Cli) -> Result<u8, CommandError> {
    match &cli.command {
        Command::Init(options) => init::run(&App::new(&cli.global)?, options),
        Command::List(options) => list::run(&App::new(&cli.global)?, options),
        Command::Show(options) => show::run(&App::new(&cli.global)?, options),
        Command::Check(options) => check::run(&App::new(&cli.global)?, options),
        Command::Trust(options) => trust::run(&App::new(&cli.global)?, &cli.global, options),
        Command::Plan(options) => plan::run(&App::new(&cli.global)?, options),
        Command::Run(options) => run::run(&mut App::new(&cli.global)?, options),
        Command::Runs(options) => runs::run(&App::new(&cli.global)?, options),
        Command::Log(options) => log::run(&App::new(&cli.global)?, options),
        Command::Result(options) => result::run(&App::new(&cli.global)?, options),
        Command::Wait(options) => wait::run(&App::new(&cli.global)?, options),
        Command::Stop(options) => stop::run(&App::new(&cli.global)?, options),
        Command::Resume(options) => resume::run(&mut App::new(&cli.global)?, options),
        Command::Doctor(options) => doctor::run(&App::new(&cli.global)?, options),
        Command::Schema(options) => schema::run(options),
        Command::Completions(options) => completions::run(options),
        Command::Man(options) => man::run(options),
    }
}

/// The command line as clap knows it, for help, completions and manual pages.
pub fn command() -> clap::Command {
    Cli::command()
}

fn usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let asked_for_help = !error.use_stderr();
    if asked_for_help || !arguments.iter().any(|argument| argument == "--json") {
        // Help goes to stdout and mistakes to stderr; a closed pipe has read enough of either.
        let printed = error.print().is_ok();
        return if asked_for_help {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(if printed { Kind::Usage } else { Kind::Internal }.code())
        };
    }
    let text = error.to_string();
    let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: ")).unwrap_or("see `posse --help`");
    let failure = CommandError::new(Kind::Usage, message).with_help(tip);
    let printer = Printer { level: Level::Normal, json: true, places: None };
    ExitCode::from(fail(&printer, run::Output::Json, &failure))
}

/// Tells how a command failed and gives the exit code.
fn fail(printer: &Printer, output: run::Output, error: &CommandError) -> u8 {
    let printed = match output {
        run::Output::Json => printer.json(&error.to_json()),
        run::Output::StreamJson => printer.raw(&format!("{}\n", error.to_json())),
        run::Output::Text => {
            let problems = printer.diagnostics(&error.problems);
            problems.and_then(|()| printer.error(&error.message, error.help.as_deref()))
        }
    };
    match printed {
        Ok(()) => error.kind.code(),
        Err(_) => Kind::Internal.code(),
    }
}
