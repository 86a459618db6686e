//! Asking the person at the terminal about a call that no rule decides.
//!
//! The question is shown by whoever shows the run, so that it and the progress line do not write over each other.

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;

use posse_core::text::{visible, visible_line};
use posse_runtime::approver::{Answer, Approver, Asking, Nobody, Question};
use tokio::sync::{mpsc, oneshot};

use crate::app::App;
use crate::print::{BOLD, CYAN, DIM, GREEN, RED, styled};

/// The most lines of a change that are shown.
const DIFF_LINES_MAX: usize = 60;

/// A question on its way to the person, and the way back.
pub struct Asked {
    pub question: Question,
    answer: oneshot::Sender<Answer>,
}

/// Questions to show; `None` when nobody is there.
pub type Questions = Option<mpsc::Receiver<Asked>>;

/// Sends questions to whoever shows the run.
struct Terminal(mpsc::Sender<Asked>);

impl Approver for Terminal {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.0.send(Asked { question: question.clone(), answer }).await.ok()?;
            answered.await.ok()
        })
    }
}

/// The person, if one is there: somebody who can read the question and write an answer.
pub fn person() -> (Arc<dyn Approver>, Questions) {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return (Arc::new(Nobody), None);
    }
    let (sender, questions) = mpsc::channel(1);
    (Arc::new(Terminal(sender)), Some(questions))
}

/// The next question; never where nobody is there.
pub async fn next(questions: &mut Questions) -> Asked {
    let asked = match questions {
        Some(questions) => questions.recv().await,
        None => None,
    };
    match asked {
        Some(asked) => asked,
        None => std::future::pending().await,
    }
}

/// Shows a question.
pub fn show(app: &App, question: &Question) -> std::io::Result<()> {
    let (agent, tool) = (visible_line(&question.agent), visible_line(&question.tool));
    app.printer.say(&format!("{} wants to use {}", styled(BOLD, &agent), styled(CYAN, &tool)))?;
    for line in visible(&question.what).lines() {
        app.printer.say(&format!("    {line}"))?;
    }
    let diff = visible(question.diff.as_deref().unwrap_or_default());
    for line in diff.lines().take(DIFF_LINES_MAX) {
        let style = match line.as_bytes().first() {
            Some(b'+') => GREEN,
            Some(b'-') => RED,
            _ => DIM,
        };
        app.printer.say(&format!("    {}", styled(style, line)))?;
    }
    if let Some(more) = diff.lines().count().checked_sub(DIFF_LINES_MAX).filter(|more| *more > 0) {
        app.printer.say(&styled(DIM, &format!("    … {more} more lines")))?;
    }
    app.printer.say(&styled(DIM, &format!("  {}", visible_line(&question.why))))?;
    let like = match &question.rules[..] {
        [] => "  [y] once  [n] no".to_owned(),
        rules => format!(
            "  [y] once  [r] for this run  [a] always  [n] no      r and a allow {}",
            visible_line(&rules.join(", "))
        ),
    };
    app.printer.say(&like)
}

/// Asks, and passes the answer on; gives it where somebody is still interested in it.
pub async fn ask(app: &App, asked: Asked) -> std::io::Result<Option<Answer>> {
    let Asked { question, mut answer } = asked;
    show(app, &question)?;
    let given = tokio::select! {
        given = read(app, !question.rules.is_empty()) => given?,
        // The run was stopped meanwhile.
        () = answer.closed() => return Ok(None),
    };
    Ok(answer.send(given.clone()).is_ok().then_some(given))
}

/// Reads the answer on a thread that may block; the end of the input is no.
async fn read(app: &App, has_rules: bool) -> std::io::Result<Answer> {
    loop {
        app.printer.prompt("  > ")?;
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        let line = line.await.map_err(std::io::Error::other)??;
        match line.trim() {
            "y" | "yes" => return Ok(Answer::Once),
            "r" | "run" if has_rules => return Ok(Answer::Run),
            "a" | "always" if has_rules => return Ok(Answer::Always),
            "n" | "no" => return Ok(Answer::No(None)),
            "" if line.is_empty() => return Ok(Answer::No(None)),
            other => match other.strip_prefix("no ") {
                Some(reason) => return Ok(Answer::No(Some(reason.to_owned()))),
                None => app.printer.say("  y, r, a or n; `no …` tells the agent why")?,
            },
        }
    }
}
