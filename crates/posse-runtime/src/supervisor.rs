//! The owner of live runs: one task, the only door for frontends.
//!
//! `select!` names what happened; `decide` decides, and is tested without tokio. A run is registered and its
//! first event stored before anything of it is spawned. Only the owner of a run appends to it: other processes
//! leave letters in the store and wake it.

mod decide;
mod record;
mod view;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use posse_core::event::{Event, Fact, Said, StopAsked};
use posse_core::id::RunId;
use posse_core::outcome::{Outcome, RunError, StopReason};
use posse_core::plan::Plan;
use posse_core::step::next_step;
use posse_core::transcript::Transcript;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::approver::{Approver, Patient};
use crate::engine::{Engine, Job, Live, Stop};
use crate::owner::{self, Owner};
use crate::store::{Durability, Letter, Store, StoreError};
use decide::{Effect, Input, Runs};
use record::RunRecorder;

pub use view::{RunView, fold};

/// How often an owner that cannot be woken looks for letters, and a watcher for events of another process.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Whoever looks on at a run.
pub type Follower = mpsc::Sender<Live>;

/// What a supervisor works with.
pub struct Means {
    /// Where transcripts are kept.
    pub store: Arc<dyn Store>,
    /// What carries plans out.
    pub engine: Arc<dyn Engine>,
    /// Who is asked about what no rule decides.
    pub approver: Arc<dyn Approver>,
    /// The directory of owners' locks and sockets; `None` when no other process shares the store.
    pub owners: Option<PathBuf>,
    /// What time it is.
    pub clock: fn() -> posse_core::time::Time,
}

/// The door to live runs. Dropping it stops what still runs.
pub struct Supervisor {
    store: Arc<dyn Store>,
    approver: Arc<dyn Approver>,
    owners: Option<PathBuf>,
    owner: String,
    clock: fn() -> posse_core::time::Time,
    orders: mpsc::UnboundedSender<Order>,
    task: tokio::task::JoinHandle<()>,
}

/// A run that was started here.
pub struct Started {
    /// The run.
    pub run_id: RunId,
    /// How it ended, when it has.
    pub done: oneshot::Receiver<Result<Outcome, StoreError>>,
}

/// Why something cannot be done with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SuperviseError {
    /// The store failed, or has no such run.
    Store(StoreError),
    /// The run has ended.
    Ended(&'static str),
    /// Another process runs it.
    Alive,
    /// What is stored cannot be gone on with.
    Damaged(String),
}

impl From<StoreError> for SuperviseError {
    fn from(error: StoreError) -> SuperviseError {
        SuperviseError::Store(error)
    }
}

/// What the owning task is told from outside.
enum Order {
    Launch(Box<Launch>),
    Stop(RunId, StopReason),
    StopAll(StopReason),
}

/// A run that is registered and may begin.
struct Launch {
    job: Job,
    /// True when another process owned it before.
    is_claimed: bool,
    follower: Option<Follower>,
    done: oneshot::Sender<Result<Outcome, StoreError>>,
}

impl Supervisor {
    /// Starts the owning task.
    pub fn new(means: Means) -> std::io::Result<Supervisor> {
        let owner = match &means.owners {
            Some(directory) => Owner::in_directory(directory)?,
            None => Owner::unseen(),
        };
        let (orders, inbox) = mpsc::unbounded_channel();
        let (store, owners, name) = (means.store.clone(), means.owners.clone(), owner.name().to_owned());
        let (clock, approver) = (means.clock, means.approver.clone());
        let task = tokio::spawn(Task::new(means, owner).run(inbox));
        Ok(Supervisor { store, approver, owners, owner: name, clock, orders, task })
    }

    /// Starts a run: registered and stored first.
    pub async fn start(&self, plan: Plan, follower: Option<Follower>) -> Result<Started, SuperviseError> {
        let run_id = new_run_id((self.clock)());
        let mut plan = plan;
        plan.session_id = plan.session_id.or(Some(run_id));
        let plan = Arc::new(plan);
        let event = Event { run_id, seq: 1, at: (self.clock)(), fact: Fact::Started(plan.clone()) };
        let mut transcript = Transcript::new();
        transcript.append(&event).expect("a run starts with its first event");
        self.store.create(&self.owner, vec![event.clone()]).await?;
        if let Some(follower) = &follower {
            // Whoever asked may have gone; the run goes on.
            drop(follower.send(Live::Event(Arc::new(event))).await);
        }
        Ok(self.launch(Job { run_id, plan, transcript, approver: self.approver.clone() }, follower, false))
    }

    /// Goes on with a run whose process is gone, in the same run.
    pub async fn resume(&self, run_id: RunId, follower: Option<Follower>) -> Result<Started, SuperviseError> {
        let stored = self.store.get(run_id).await?;
        let ended = |transcript: &Transcript| transcript.outcome.as_ref().map(Outcome::status);
        if stored.has_ended {
            let (_, transcript) =
                fold(&self.store.read(run_id, 1).await?).map_err(SuperviseError::Damaged)?;
            return Err(SuperviseError::Ended(ended(&transcript).unwrap_or("ended")));
        }
        if self.is_alive(&stored.owner) || !self.store.claim(run_id, &stored.owner, &self.owner).await? {
            return Err(SuperviseError::Alive);
        }
        // Read once nobody else can write: its owner may have gone on until just now.
        let (plan, transcript) = fold(&self.store.read(run_id, 1).await?).map_err(SuperviseError::Damaged)?;
        if let Some(status) = ended(&transcript) {
            return Err(SuperviseError::Ended(status));
        }
        Ok(self.launch(Job { run_id, plan, transcript, approver: self.approver.clone() }, follower, true))
    }

    fn launch(&self, job: Job, follower: Option<Follower>, is_claimed: bool) -> Started {
        let run_id = job.run_id;
        let (done, outcome) = oneshot::channel();
        let order = Order::Launch(Box::new(Launch { job, is_claimed, follower, done }));
        // A task that is gone has dropped `done`, which whoever waits sees.
        drop(self.orders.send(order));
        Started { run_id, done: outcome }
    }

    /// Stops a run, wherever it runs. One whose process is gone is ended here.
    pub async fn stop(&self, run_id: RunId, reason: StopReason) -> Result<(), SuperviseError> {
        let stored = self.store.get(run_id).await?;
        if stored.has_ended {
            return Ok(());
        }
        if stored.owner == self.owner {
            drop(self.orders.send(Order::Stop(run_id, reason)));
            return Ok(());
        }
        if self.is_alive(&stored.owner) {
            self.store.submit(run_id, Letter::Stop { reason }).await?;
            self.wake(&stored.owner);
            return Ok(());
        }
        if !self.store.claim(run_id, &stored.owner, &self.owner).await? {
            return Err(SuperviseError::Alive);
        }
        self.end_abandoned(run_id, reason).await
    }

    async fn end_abandoned(&self, run_id: RunId, reason: StopReason) -> Result<(), SuperviseError> {
        let (plan, mut transcript) =
            fold(&self.store.read(run_id, 1).await?).map_err(SuperviseError::Damaged)?;
        if transcript.outcome.is_some() {
            // Its owner ended it after all, and is gone since.
            return Ok(());
        }
        let mut recorder = RunRecorder::new(run_id, transcript.next_seq, self.store.clone(), self.clock);
        use crate::engine::Recorder as _;
        recorder.note(&mut transcript, Fact::StopAsked(StopAsked { reason }));
        if let posse_core::step::Step::End(outcome) = next_step(&plan, &transcript) {
            recorder.note(&mut transcript, Fact::Ended(outcome));
        }
        Ok(recorder.flush(Durability::Machine).await?)
    }

    /// Stops every run of this process.
    pub fn stop_all(&self, reason: StopReason) {
        drop(self.orders.send(Order::StopAll(reason)));
    }

    /// Says something to a run, wherever it runs.
    pub async fn say(&self, run_id: RunId, from: &str, text: &str) -> Result<(), SuperviseError> {
        let stored = self.store.get(run_id).await?;
        if stored.has_ended {
            return Err(SuperviseError::Ended("ended"));
        }
        self.store.submit(run_id, Letter::Say { from: from.to_owned(), text: text.to_owned() }).await?;
        self.wake(&stored.owner);
        Ok(())
    }

    /// The run whose identity begins so; an error when it is none or several.
    pub async fn find(&self, prefix: &str) -> Result<RunId, SuperviseError> {
        match self.store.find(prefix).await?.as_slice() {
            [one] => Ok(*one),
            [] => Err(SuperviseError::Store(StoreError::Absent)),
            _ => {
                Err(SuperviseError::Store(StoreError::Failed(format!("several runs begin with `{prefix}`"))))
            }
        }
    }

    /// How a run stands. Looking writes nothing.
    pub async fn look(&self, run_id: RunId) -> Result<RunView, SuperviseError> {
        let stored = self.store.get(run_id).await?;
        let (plan, transcript) = fold(&self.store.read(run_id, 1).await?).map_err(SuperviseError::Damaged)?;
        Ok(RunView { run_id, plan, transcript, is_owned: self.is_alive(&stored.owner) })
    }

    /// The runs there are, the newest first.
    pub async fn list(&self, count_max: usize) -> Result<Vec<Result<RunView, String>>, SuperviseError> {
        let mut views = Vec::new();
        for stored in self.store.list(count_max).await? {
            // One damaged run does not hide the others.
            views.push(self.look(stored.run_id).await.map_err(|error| format!("{}: {error}", stored.run_id)));
        }
        Ok(views)
    }

    /// The events of a run from a place on.
    pub async fn events(&self, run_id: RunId, from_seq: u64) -> Result<Vec<Event>, SuperviseError> {
        Ok(self.store.read(run_id, from_seq).await?)
    }

    /// Waits for events after a place; `None` when the run has ended or its process is gone.
    pub async fn next_events(
        &self,
        run_id: RunId,
        from_seq: u64,
    ) -> Result<Option<Vec<Event>>, SuperviseError> {
        loop {
            // Asked before the events are read: what a process wrote before it went is still there to be read.
            let stored = self.store.get(run_id).await?;
            let goes_on = !stored.has_ended && self.is_alive(&stored.owner);
            let events = self.store.read(run_id, from_seq).await?;
            if !events.is_empty() {
                return Ok(Some(events));
            }
            if !goes_on {
                return Ok(None);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until a run has ended or its process is gone.
    pub async fn wait(&self, run_id: RunId) -> Result<RunView, SuperviseError> {
        let mut seq = 2;
        while let Some(events) = self.next_events(run_id, seq).await? {
            seq = events.last().map_or(seq, |event| event.seq + 1);
        }
        self.look(run_id).await
    }

    /// Lets every run end, then gives up the lock.
    pub async fn close(self) {
        let Supervisor { orders, task, .. } = self;
        drop(orders);
        // A panic of the owning task was told to whoever waited for a run.
        drop(task.await);
    }

    fn is_alive(&self, owner: &str) -> bool {
        owner == self.owner || self.owners.as_ref().is_some_and(|directory| owner::is_alive(directory, owner))
    }

    fn wake(&self, owner: &str) {
        if let Some(directory) = &self.owners {
            owner::wake(directory, owner);
        }
    }
}

/// Sorted by time, and as good as unique: it names a run, and opens nothing.
fn new_run_id(now: posse_core::time::Time) -> RunId {
    let random = fastrand::u128(..).to_le_bytes();
    let tail = random.first_chunk::<10>().expect("ten of sixteen bytes");
    RunId(uuid::Builder::from_unix_timestamp_millis(u64::try_from(now.0).unwrap_or(0), tail).into_uuid())
}

/// The owning task.
struct Task {
    means: Means,
    owner: Owner,
    runs: Runs,
    handles: HashMap<RunId, Handle>,
    waiting: HashMap<RunId, Box<Launch>>,
    finished: HashMap<RunId, Finished>,
    tasks: JoinSet<Finished>,
}

/// A run of which nothing is alive, and who is to be told.
struct Finished {
    run_id: RunId,
    outcome: Result<Outcome, StoreError>,
    done: oneshot::Sender<Result<Outcome, StoreError>>,
}

/// The ways to one live run.
struct Handle {
    stop: watch::Sender<Option<StopReason>>,
    letters: mpsc::UnboundedSender<Fact>,
}

impl Task {
    fn new(means: Means, owner: Owner) -> Task {
        Task {
            means,
            owner,
            runs: Runs::default(),
            handles: HashMap::new(),
            waiting: HashMap::new(),
            finished: HashMap::new(),
            tasks: JoinSet::new(),
        }
    }

    async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        loop {
            let input = tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.input_of(order),
                    None => Input::Closed,
                },
                Some(ended) = self.tasks.join_next() => match ended {
                    Ok(finished) => self.input_of_end(finished),
                    // The task of a run catches what panics in it; what it does itself cannot.
                    Err(_) => continue,
                },
                () = woken(&self.owner), if !self.handles.is_empty() => Input::Woken,
            };
            let closed = matches!(input, Input::Closed);
            self.take_in(input).await;
            if closed {
                while let Some(ended) = self.tasks.join_next().await {
                    // As above.
                    let Ok(finished) = ended else { continue };
                    let input = self.input_of_end(finished);
                    self.take_in(input).await;
                }
                return;
            }
        }
    }

    async fn take_in(&mut self, input: Input) {
        for effect in self.runs.on_input(input) {
            self.carry_out(effect).await;
        }
    }

    fn input_of_end(&mut self, finished: Finished) -> Input {
        let run_id = finished.run_id;
        self.finished.insert(run_id, finished);
        Input::Ended(run_id)
    }

    fn input_of(&mut self, order: Order) -> Input {
        match order {
            Order::Launch(launch) => {
                let run_id = launch.job.run_id;
                self.waiting.insert(run_id, launch);
                Input::Registered(run_id)
            }
            Order::Stop(run_id, reason) => Input::StopAsked(run_id, reason),
            Order::StopAll(reason) => Input::StopAllAsked(reason),
        }
    }

    async fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Launch(run_id) => {
                let launch = self.waiting.remove(&run_id).expect("a registered run waits to be launched");
                self.launch(run_id, *launch).await;
            }
            Effect::Stop(run_id, reason) => {
                if let Some(handle) = self.handles.get(&run_id) {
                    handle.stop.send_modify(|known| *known = (*known).max(Some(reason)));
                }
            }
            Effect::Forget(run_id) => {
                drop(self.handles.remove(&run_id));
                let finished = self.finished.remove(&run_id).expect("a run that ended has an outcome");
                self.tell(finished).await;
            }
            Effect::TakeLetters => self.take_letters().await,
        }
    }

    async fn tell(&self, Finished { run_id, outcome, done }: Finished) {
        if outcome.is_err() {
            // Nobody runs it, though this process lives: it is given up, so that it can be gone on with once the
            // store is mended. Where that fails too, it is free when this process ends.
            drop(self.means.store.claim(run_id, self.owner.name(), "").await);
        }
        // Whoever started it may not wait for it.
        drop(done.send(outcome));
    }

    async fn take_letters(&mut self) {
        // A store that fails here fails the runs themselves at their next event.
        let letters = self.means.store.take_letters(self.owner.name()).await.unwrap_or_default();
        for (run_id, letter) in letters {
            let Some(handle) = self.handles.get(&run_id) else { continue };
            match letter {
                Letter::Stop { reason } => {
                    handle.stop.send_modify(|known| *known = (*known).max(Some(reason)));
                }
                // A run that has just ended is told nothing more.
                Letter::Say { from, text } => drop(handle.letters.send(Fact::Said(Said { from, text }))),
            }
        }
    }

    async fn launch(&mut self, run_id: RunId, launch: Launch) {
        let (stop_sender, stop) = Stop::channel();
        let (letters, inbox) = mpsc::unbounded_channel();
        let Launch { mut job, is_claimed, follower, done } = launch;
        let (patient, run_clock) = Patient::new(job.approver.clone());
        job.approver = Arc::new(patient);
        let next_seq = job.transcript.next_seq;
        let mut recorder = RunRecorder::new(run_id, next_seq, self.means.store.clone(), self.means.clock);
        recorder.connect(inbox, follower);
        let (engine, store, clock) = (self.means.engine.clone(), self.means.store.clone(), self.means.clock);
        let limit = Duration::from_millis(job.plan.limits.timeout_ms.value);
        let deadline = run_clock.elapsed(limit);
        let own_stop = stop_sender.clone();
        self.handles.insert(run_id, Handle { stop: stop_sender, letters });
        if is_claimed {
            // What was said while it had no owner must be there when it first looks.
            self.take_letters().await;
        }
        self.tasks.spawn(async move {
            let outcome = carry(engine, job, &mut recorder, stop, (deadline, own_stop)).await;
            let outcome = match outcome {
                Some(outcome) => outcome,
                None => end_after_panic(run_id, store, clock).await,
            };
            Finished { run_id, outcome, done }
        });
    }
}

/// Runs the engine under its deadline; `None` when it panicked.
async fn carry(
    engine: Arc<dyn Engine>,
    job: Job,
    recorder: &mut RunRecorder,
    stop: Stop,
    (deadline, own_stop): (impl Future<Output = ()>, watch::Sender<Option<StopReason>>),
) -> Option<Result<Outcome, StoreError>> {
    // The call is inside: an engine may panic before it has made its future.
    let running = async { engine.run(job, recorder, stop).await };
    let running = std::panic::AssertUnwindSafe(running).catch_unwind();
    tokio::pin!(running);
    tokio::select! {
        outcome = &mut running => return outcome.ok(),
        () = deadline => {}
    }
    own_stop.send_modify(|known| *known = (*known).max(Some(StopReason::Deadline)));
    running.await.ok()
}

/// A run in which something panicked ends as failed, from what is stored of it.
async fn end_after_panic(
    run_id: RunId,
    store: Arc<dyn Store>,
    clock: fn() -> posse_core::time::Time,
) -> Result<Outcome, StoreError> {
    use crate::engine::Recorder as _;
    let (_, mut transcript) = fold(&store.read(run_id, 1).await?).map_err(StoreError::Failed)?;
    if let Some(outcome) = transcript.outcome {
        return Ok(outcome);
    }
    let error = RunError::new("panic", "something in Posse went wrong while it ran");
    let outcome = Outcome::failed(error.with_help("please report it, with what `posse log` shows"));
    let mut recorder = RunRecorder::new(run_id, transcript.next_seq, store, clock);
    recorder.note(&mut transcript, Fact::Ended(outcome.clone()));
    recorder.flush(Durability::Machine).await?;
    Ok(outcome)
}

/// Resolves when there may be a letter: told, or from time to time where nobody can tell.
async fn woken(owner: &Owner) {
    if !owner.woken().await {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

impl std::fmt::Display for SuperviseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SuperviseError::Store(error) => write!(f, "{error}"),
            SuperviseError::Ended(status) => write!(f, "the run has ended: {status}"),
            SuperviseError::Alive => write!(f, "another process runs it"),
            SuperviseError::Damaged(what) => write!(f, "what is stored of the run is damaged: {what}"),
        }
    }
}

#[cfg(test)]
mod tests;
