//! What every store promises, held to each of them: a further store is one more line of [`stores`].

use std::sync::Arc;

use futures_util::future::join_all;
use posse_core::event::{Asked, Event, Fact};
use posse_core::id::RunId;
use posse_core::message::Api;
use posse_core::outcome::{Outcome, StopReason};
use posse_core::time::Time;
use serde_json::json;
use tempfile::TempDir;
use uuid::Uuid;

use super::{Durability, Letter, MemoryStore, SqliteStore, Store, StoreError, StoredRun};

mod facts;

/// A store without runs, and the directory it is in.
struct Fresh {
    store: Arc<dyn Store>,
    directory: Option<TempDir>,
}

fn memory() -> Fresh {
    Fresh { store: Arc::new(MemoryStore::default()), directory: None }
}

fn sqlite() -> Fresh {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let store = SqliteStore::open(&directory.path().join("store.db")).expect("the store opens");
    Fresh { store: Arc::new(store), directory: Some(directory) }
}

macro_rules! stores {
    ($($open:ident)*) => { $(
        mod $open {
            rows! { $open:
                a_run_is_read_as_it_was_written
                a_run_is_created_once
                a_run_is_read_from_a_place_on
                the_newest_run_is_listed_first
                one_run_is_got_with_its_owner
                a_run_is_found_by_the_beginning_of_its_identity
                an_append_elsewhere_is_refused_and_leaves_nothing
                of_two_writers_exactly_one_wins
                nothing_is_appended_to_an_unknown_run
                nothing_follows_the_end
                letters_are_taken_once_in_order_and_by_the_owner
                letters_go_to_whoever_owns_the_run_when_they_are_taken
                a_claim_is_a_compare_and_swap
                of_two_claims_at_once_one_wins
                every_kind_of_event_comes_back_byte_for_byte
                ten_thousand_events_are_read_in_order
            }
        }
    )* };
}

macro_rules! rows {
    ($open:ident: $($row:ident)*) => { $(
        #[tokio::test]
        async fn $row() {
            let fresh = super::$open();
            super::$row(fresh.store.as_ref()).await;
            drop(fresh.store);
            drop(fresh.directory);
        }
    )* };
}

stores! { memory sqlite }

/// A run whose identity sorts by its number.
fn run(number: u128) -> RunId {
    RunId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + number))
}

fn event(run_id: RunId, seq: u64, fact: Fact) -> Event {
    Event { run_id, seq, at: Time(1_700_000_000_000 + i64::try_from(seq).expect("few events")), fact }
}

fn started(run_id: RunId) -> Event {
    event(run_id, 1, Fact::Started(Arc::new(posse_testkit::sample::plan(Api::Anthropic, "http://127.0.0.1"))))
}

fn asked(run_id: RunId, seq: u64) -> Event {
    event(run_id, seq, Fact::Asked(Asked { turn: seq, note: None }))
}

/// Some events of a run, told apart by who writes them.
fn written_by(writer: &str, run_id: RunId, from_seq: u64) -> Vec<Event> {
    let fact = |seq| Fact::Unknown { kind: "mark".to_owned(), data: json!({ "by": writer, "seq": seq }) };
    (from_seq..from_seq + 3).map(|seq| event(run_id, seq, fact(seq))).collect()
}

fn ended() -> Fact {
    Fact::Ended(Outcome::Done { result: "yes".to_owned(), output: None })
}

async fn create(store: &dyn Store, owner: &str, run_id: RunId) {
    store.create(owner, vec![started(run_id)]).await.expect("a new run can be registered");
}

async fn append(store: &dyn Store, events: Vec<Event>) -> Result<(), StoreError> {
    let (run_id, seq) = (events[0].run_id, events[0].seq);
    store.append(run_id, seq, events, Durability::Process).await
}

async fn a_run_is_read_as_it_was_written(store: &dyn Store) {
    create(store, "me", run(1)).await;
    append(store, vec![asked(run(1), 2), asked(run(1), 3)]).await.expect("it is the next place");
    store.append(run(1), 4, vec![asked(run(1), 4)], Durability::Machine).await.expect("it is the next place");
    let expected = [started(run(1)), asked(run(1), 2), asked(run(1), 3), asked(run(1), 4)];
    assert_eq!(store.read(run(1), 1).await.expect("the run is there"), expected);
    assert_eq!(store.read(run(1), 0).await.expect("the run is there"), expected);
}

async fn a_run_is_created_once(store: &dyn Store) {
    create(store, "me", run(1)).await;
    let again = store.create("you", vec![started(run(1)), asked(run(1), 2)]).await;
    assert_eq!(again, Err(StoreError::Conflict { run_id: run(1) }));
    assert_eq!(store.read(run(1), 1).await, Ok(vec![started(run(1))]));
    assert_eq!(store.get(run(1)).await.expect("the run is there").owner, "me");
}

async fn a_run_is_read_from_a_place_on(store: &dyn Store) {
    create(store, "me", run(1)).await;
    append(store, vec![asked(run(1), 2), asked(run(1), 3)]).await.expect("it is the next place");
    assert_eq!(store.read(run(1), 3).await, Ok(vec![asked(run(1), 3)]));
    assert_eq!(store.read(run(1), 4).await, Ok(vec![]), "nothing has happened since");
    assert_eq!(store.read(run(2), 1).await, Err(StoreError::Absent));
    assert_eq!(store.read(run(2), 7).await, Err(StoreError::Absent));
}

async fn the_newest_run_is_listed_first(store: &dyn Store) {
    for number in [2, 3, 1] {
        create(store, "me", run(number)).await;
    }
    append(store, vec![event(run(2), 2, ended())]).await.expect("it is the next place");
    let listed = |number, has_ended| StoredRun { run_id: run(number), owner: "me".to_owned(), has_ended };
    let all = [listed(3, false), listed(2, true), listed(1, false)];
    assert_eq!(store.list(10).await.expect("there are runs"), all);
    assert_eq!(store.list(2).await.expect("there are runs"), all[..2]);
    assert_eq!(store.list(0).await, Ok(vec![]));
}

async fn one_run_is_got_with_its_owner(store: &dyn Store) {
    create(store, "me", run(1)).await;
    let mut expected = StoredRun { run_id: run(1), owner: "me".to_owned(), has_ended: false };
    assert_eq!(store.get(run(1)).await.as_ref(), Ok(&expected));
    append(store, vec![asked(run(1), 2), event(run(1), 3, ended())]).await.expect("it is the next place");
    expected.has_ended = true;
    assert_eq!(store.get(run(1)).await, Ok(expected));
    assert_eq!(store.get(run(2)).await, Err(StoreError::Absent));
}

async fn a_run_is_found_by_the_beginning_of_its_identity(store: &dyn Store) {
    create(store, "me", run(1)).await;
    create(store, "me", run(2)).await;
    let other = RunId(Uuid::from_u128(0xABCD_0000_0000_7000_8000_0000_0000_0000));
    create(store, "me", other).await;
    for (prefix, expected) in [
        ("a", vec![other]),
        ("ABCD", vec![other]),
        ("abcd0000-0000", vec![other]),
        ("abcd00000000", vec![other]),
        (&other.to_string(), vec![other]),
        ("0190", vec![run(1), run(2)]),
        (&run(2).to_string(), vec![run(2)]),
        ("f", vec![]),
        ("", vec![]),
        ("-", vec![]),
        ("no", vec![]),
        ("%", vec![]),
        (&format!("{other}0"), vec![]),
    ] {
        assert_eq!(store.find(prefix).await, Ok(expected), "{prefix}");
    }
    create(store, "me", run(3)).await;
    assert_eq!(store.find("0190").await.expect("there are runs").len(), 2, "enough to tell");
}

async fn an_append_elsewhere_is_refused_and_leaves_nothing(store: &dyn Store) {
    create(store, "me", run(1)).await;
    append(store, vec![asked(run(1), 2)]).await.expect("it is the next place");
    let conflict = Err(StoreError::Conflict { run_id: run(1) });
    assert_eq!(append(store, vec![asked(run(1), 4)]).await, conflict, "a gap");
    assert_eq!(append(store, vec![asked(run(1), 2), asked(run(1), 3)]).await, conflict, "it is taken");
    assert_eq!(append(store, vec![asked(run(1), 2), event(run(1), 3, ended())]).await, conflict);
    assert_eq!(store.read(run(1), 2).await, Ok(vec![asked(run(1), 2)]));
    assert!(!store.get(run(1)).await.expect("the run is there").has_ended);
    append(store, vec![asked(run(1), 3)]).await.expect("it is still the next place");
}

async fn of_two_writers_exactly_one_wins(store: &dyn Store) {
    create(store, "me", run(1)).await;
    let mut expected = vec![started(run(1))];
    for round in 0..50 {
        let seq = 2 + round * 3;
        let (one, other) = (written_by("one", run(1), seq), written_by("other", run(1), seq));
        let done = tokio::join!(append(store, one.clone()), append(store, other.clone()));
        let conflict = Err(StoreError::Conflict { run_id: run(1) });
        let winner = if done == (Ok(()), conflict.clone()) { one } else { other };
        assert!(done == (Ok(()), conflict.clone()) || done == (conflict, Ok(())), "{done:?}");
        expected.extend(winner);
    }
    assert_eq!(store.read(run(1), 1).await, Ok(expected));
}

async fn nothing_is_appended_to_an_unknown_run(store: &dyn Store) {
    assert_eq!(append(store, vec![asked(run(1), 2)]).await, Err(StoreError::Absent));
    let letter = Letter::Stop { reason: StopReason::Asked };
    assert_eq!(store.submit(run(1), letter).await, Err(StoreError::Absent));
    assert_eq!(store.claim(run(1), "", "me").await, Err(StoreError::Absent));
    assert_eq!(store.list(10).await, Ok(vec![]));
}

async fn nothing_follows_the_end(store: &dyn Store) {
    create(store, "me", run(1)).await;
    append(store, vec![event(run(1), 2, ended())]).await.expect("it is the next place");
    let conflict = Err(StoreError::Conflict { run_id: run(1) });
    assert_eq!(append(store, vec![asked(run(1), 3)]).await, conflict);
    assert_eq!(append(store, vec![event(run(1), 3, ended())]).await, conflict);
    assert_eq!(store.read(run(1), 2).await, Ok(vec![event(run(1), 2, ended())]));
}

fn said(text: &str) -> Letter {
    Letter::Say { from: "cli".to_owned(), text: text.to_owned() }
}

async fn letters_are_taken_once_in_order_and_by_the_owner(store: &dyn Store) {
    create(store, "me", run(1)).await;
    create(store, "me", run(2)).await;
    create(store, "you", run(3)).await;
    let stop = Letter::Stop { reason: StopReason::Asked };
    for (number, letter) in [(2, said("a")), (3, said("b")), (1, said("c")), (2, stop.clone())] {
        store.submit(run(number), letter).await.expect("the run is there");
    }
    let mine = vec![(run(2), said("a")), (run(1), said("c")), (run(2), stop)];
    assert_eq!(store.take_letters("me").await, Ok(mine));
    assert_eq!(store.take_letters("me").await, Ok(vec![]));
    assert_eq!(store.take_letters("nobody").await, Ok(vec![]));
    assert_eq!(store.take_letters("you").await, Ok(vec![(run(3), said("b"))]));
}

async fn letters_go_to_whoever_owns_the_run_when_they_are_taken(store: &dyn Store) {
    create(store, "me", run(1)).await;
    store.submit(run(1), said("a")).await.expect("the run is there");
    assert_eq!(store.claim(run(1), "me", "you").await, Ok(true));
    assert_eq!(store.take_letters("me").await, Ok(vec![]));
    assert_eq!(store.take_letters("you").await, Ok(vec![(run(1), said("a"))]));
}

async fn a_claim_is_a_compare_and_swap(store: &dyn Store) {
    create(store, "me", run(1)).await;
    assert_eq!(store.claim(run(1), "you", "her").await, Ok(false));
    assert_eq!(store.claim(run(1), "", "her").await, Ok(false));
    assert_eq!(store.get(run(1)).await.expect("the run is there").owner, "me");
    assert_eq!(store.claim(run(1), "me", "her").await, Ok(true));
    assert_eq!(store.claim(run(1), "me", "you").await, Ok(false), "it is hers");
    assert_eq!(store.get(run(1)).await.expect("the run is there").owner, "her");
}

async fn of_two_claims_at_once_one_wins(store: &dyn Store) {
    create(store, "0", run(1)).await;
    for round in 0..20 {
        let (from, to) = (round.to_string(), (round + 1).to_string());
        let claims = (0..4).map(|_| store.claim(run(1), &from, &to));
        let won = join_all(claims).await.into_iter().filter(|claim| *claim == Ok(true)).count();
        assert_eq!(won, 1, "round {round}");
    }
}

async fn every_kind_of_event_comes_back_byte_for_byte(store: &dyn Store) {
    let facts = facts::every_kind();
    let events: Vec<Event> = (1..).zip(facts).map(|(seq, fact)| event(run(1), seq, fact)).collect();
    store.create("me", events[..1].to_vec()).await.expect("a new run can be registered");
    append(store, events[1..].to_vec()).await.expect("it is the next place");
    let read = store.read(run(1), 1).await.expect("the run is there");
    let lines = |events: &[Event]| events.iter().map(Event::to_line).collect::<Vec<_>>();
    assert_eq!(lines(&read), lines(&events));
    assert_eq!(read, events);
}

async fn ten_thousand_events_are_read_in_order(store: &dyn Store) {
    create(store, "me", run(1)).await;
    create(store, "me", run(2)).await;
    let seqs: Vec<u64> = (2..=10_000).collect();
    for chunk in seqs.chunks(100) {
        append(store, chunk.iter().map(|seq| asked(run(1), *seq)).collect()).await.expect("the next place");
    }
    let read = store.read(run(1), 1).await.expect("the run is there");
    assert!(read.iter().map(|event| event.seq).eq(1..=10_000));
    assert_eq!(read.last(), Some(&asked(run(1), 10_000)));
    assert_eq!(store.read(run(1), 9_999).await.expect("the run is there").len(), 2);
    assert_eq!(store.read(run(2), 1).await, Ok(vec![started(run(2))]));
}
