//! Several supervisors over one store, as processes are: who may do what with whose run.

use super::{
    Arc, Asked, Does, Event, Fact, MemoryStore, Outcome, RunId, StopReason, Store, StoreError,
    SuperviseError, Time, Uuid, among, done, kinds, outcome, owners, plan,
};

const GONE: &str = "a process that is gone";

fn run(number: u128) -> RunId {
    RunId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + number))
}

fn event(run_id: RunId, seq: u64, fact: Fact) -> Event {
    Event { run_id, seq, at: Time(1), fact }
}

/// A run whose process died while it asked.
async fn abandon(store: &MemoryStore, run_id: RunId) {
    let events = vec![
        event(run_id, 1, Fact::Started(Arc::new(plan()))),
        event(run_id, 2, Fact::Asked(Asked { turn: 1, note: None })),
    ];
    store.create(GONE, events).await.expect("a new run can be registered");
}

#[tokio::test]
async fn a_live_run_is_not_resumed() {
    let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
    let here = among(owners.path(), Does::Waits, &store);
    let there = among(owners.path(), Does::Ends, &store);
    let started = here.start(plan(), None).await.expect("a run starts");
    for supervisor in [&here, &there] {
        let resumed = supervisor.resume(started.run_id, None).await.map(|started| started.run_id);
        assert_eq!(resumed, Err(SuperviseError::Alive));
    }
    here.close().await;
}

#[tokio::test]
async fn an_ended_run_is_not_resumed() {
    let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
    let here = among(owners.path(), Does::Ends, &store);
    let started = here.start(plan(), None).await.expect("a run starts");
    let run_id = started.run_id;
    assert_eq!(outcome(started).await, Ok(done("yes")));
    let there = among(owners.path(), Does::Ends, &store);
    for supervisor in [&here, &there] {
        let resumed = supervisor.resume(run_id, None).await.map(|started| started.run_id);
        assert_eq!(resumed, Err(SuperviseError::Ended("done")));
    }
    assert_eq!(kinds(store.as_ref(), run_id).await, ["started", "asked", "ended"]);
}

#[tokio::test]
async fn an_unknown_run_is_not_resumed() {
    let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
    let here = among(owners.path(), Does::Ends, &store);
    let absent = SuperviseError::Store(StoreError::Absent);
    assert_eq!(here.resume(run(1), None).await.map(|started| started.run_id), Err(absent.clone()));
    assert_eq!(here.stop(run(1), StopReason::Asked).await, Err(absent.clone()));
    assert_eq!(here.say(run(1), "cli", "x").await, Err(absent));
}

#[tokio::test]
async fn of_two_that_resume_a_run_one_wins() {
    for number in 0..20 {
        let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
        abandon(&store, run(number)).await;
        let here = among(owners.path(), Does::Waits, &store);
        let there = among(owners.path(), Does::Waits, &store);
        let (first, second) = tokio::join!(here.resume(run(number), None), there.resume(run(number), None));
        let refused = [&first, &second].into_iter().filter_map(|resumed| resumed.as_ref().err());
        assert!(refused.eq([&SuperviseError::Alive]), "round {number}");
        here.close().await;
        there.close().await;
        let expected = ["started", "asked", "asked", "stop_asked", "ended"];
        assert_eq!(kinds(store.as_ref(), run(number)).await, expected);
    }
}

#[tokio::test]
async fn a_run_whose_process_is_gone_goes_on_in_the_same_run() {
    let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
    abandon(&store, run(1)).await;
    let here = among(owners.path(), Does::Ends, &store);
    assert_eq!(here.look(run(1)).await.expect("the run is there").report().status(), "interrupted");
    let resumed = here.resume(run(1), None).await.expect("nobody runs it");
    assert_eq!(resumed.run_id, run(1));
    assert_eq!(outcome(resumed).await, Ok(done("yes")));
    assert_eq!(kinds(store.as_ref(), run(1)).await, ["started", "asked", "asked", "ended"]);
}

#[tokio::test]
async fn looking_at_a_run_writes_nothing() {
    let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
    abandon(&store, run(1)).await;
    let before = (store.get(run(1)).await, store.read(run(1), 1).await);
    let here = among(owners.path(), Does::Ends, &store);
    let prefix = run(1).to_string();
    assert_eq!(here.find(&prefix).await, Ok(run(1)));
    assert_eq!(here.list(10).await.expect("there are runs").len(), 1);
    assert_eq!(here.wait(run(1)).await.expect("nobody runs it").report().status(), "interrupted");
    assert_eq!(here.events(run(1), 2).await.expect("the run is there").len(), 1);
    here.close().await;
    assert_eq!((store.get(run(1)).await, store.read(run(1), 1).await), before);
}

#[tokio::test]
async fn stopping_a_run_whose_process_is_gone_ends_it() {
    let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
    abandon(&store, run(1)).await;
    let here = among(owners.path(), Does::Ends, &store);
    for _ in 0..2 {
        assert_eq!(here.stop(run(1), StopReason::Asked).await, Ok(()));
        assert_eq!(kinds(store.as_ref(), run(1)).await, ["started", "asked", "stop_asked", "ended"]);
    }
    assert_eq!(here.look(run(1)).await.expect("the run is there").report().status(), "stopped");
}

#[tokio::test]
async fn another_process_can_stop_a_run_and_wait_for_it() {
    let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
    let here = among(owners.path(), Does::Waits, &store);
    let there = among(owners.path(), Does::Ends, &store);
    let started = here.start(plan(), None).await.expect("a run starts");
    let run_id = started.run_id;
    let waiting = async { there.wait(run_id).await.expect("the run is there").transcript.outcome };
    let stopping = async { there.stop(run_id, StopReason::Asked).await };
    let (waited, stopped) = tokio::join!(waiting, stopping);
    let expected = Outcome::Stopped { reason: StopReason::Asked, partial: None };
    assert_eq!((waited.as_ref(), stopped), (Some(&expected), Ok(())));
    assert_eq!(outcome(started).await, Ok(expected));
}

#[tokio::test]
async fn another_process_can_say_something_to_a_run() {
    let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
    let here = among(owners.path(), Does::Listens, &store);
    let there = among(owners.path(), Does::Ends, &store);
    let started = here.start(plan(), None).await.expect("a run starts");
    let run_id = started.run_id;
    there.say(run_id, "cli", "hello").await.expect("it runs");
    assert_eq!(outcome(started).await, Ok(done("cli said hello")));
    let late = there.say(run_id, "cli", "too late").await;
    assert_eq!(late, Err(SuperviseError::Ended("ended")));
}

#[tokio::test]
async fn what_was_said_to_a_run_that_nobody_ran_is_heard_when_it_goes_on() {
    let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
    abandon(&store, run(1)).await;
    let here = among(owners.path(), Does::Listens, &store);
    here.say(run(1), "cli", "hello").await.expect("it has not ended");
    let resumed = here.resume(run(1), None).await.expect("nobody runs it");
    assert_eq!(outcome(resumed).await, Ok(done("cli said hello")));
}

#[tokio::test]
async fn another_process_sees_every_event_and_the_end() {
    let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
    let here = among(owners.path(), Does::Waits, &store);
    let there = among(owners.path(), Does::Ends, &store);
    let started = here.start(plan(), None).await.expect("a run starts");
    let run_id = started.run_id;
    let following = async {
        let mut events = Vec::new();
        let mut seq = 1;
        while let Some(more) = there.next_events(run_id, seq).await.expect("the run is there") {
            seq = more.last().expect("more is not nothing").seq + 1;
            events.extend(more);
        }
        events
    };
    let (followed, stopped) = tokio::join!(following, here.stop(run_id, StopReason::Asked));
    assert_eq!(stopped, Ok(()));
    assert_eq!(Ok(followed), store.read(run_id, 1).await);
}

#[tokio::test]
async fn a_damaged_run_does_not_hide_the_others() {
    let (owners, store) = (owners(), Arc::new(MemoryStore::default()));
    abandon(&store, run(1)).await;
    let damaged = vec![event(run(2), 1, Fact::Asked(Asked { turn: 1, note: None }))];
    store.create(GONE, damaged).await.expect("a new run can be registered");
    let here = among(owners.path(), Does::Ends, &store);
    let listed = here.list(10).await.expect("there are runs");
    let shown: Vec<String> = listed
        .into_iter()
        .map(|view| view.map_or_else(|problem| problem, |view| view.run_id.to_string()))
        .collect();
    let problem = "what is stored of the run is damaged: it does not begin with `started`";
    assert_eq!(shown, [format!("{}: {problem}", run(2)), run(1).to_string()]);
    let resumed = here.resume(run(2), None).await.map(|started| started.run_id);
    assert!(matches!(resumed, Err(SuperviseError::Damaged(_))), "{resumed:?}");
}
