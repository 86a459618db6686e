//! The tables, how a file comes to have them, and how the derived ones are made anew.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior, params};

use crate::store::StoreError;

/// How long to wait for another process that writes.
const BUSY_MAX: Duration = Duration::from_secs(10);
/// How long to wait before another attempt where waiting is left to us.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Each brings a file from one version to the next; `user_version` counts how many were applied.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE events (
        id BLOB NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL,
        PRIMARY KEY (id, seq)
    ) WITHOUT ROWID;
    CREATE TABLE leases (id BLOB PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE letters (number INTEGER PRIMARY KEY, id BLOB NOT NULL, letter TEXT NOT NULL);
    CREATE TABLE runs (
        id BLOB PRIMARY KEY, next_seq INTEGER NOT NULL, status TEXT NOT NULL
    ) WITHOUT ROWID;
"];

/// The derived table as the newest version has it.
const RUNS: &str = "
    DROP TABLE IF EXISTS runs;
    CREATE TABLE runs (
        id BLOB PRIMARY KEY, next_seq INTEGER NOT NULL, status TEXT NOT NULL
    ) WITHOUT ROWID;
";

/// Opens a file to write, at the newest version.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let failed = |error: rusqlite::Error| describe(path, &error);
    let mut connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(BUSY_MAX).map_err(failed)?;
    prepare(&mut connection).map_err(failed)?;
    let version = version(&connection).map_err(failed)?;
    if version > MIGRATIONS.len() {
        let message = format!(
            "{}: written by a newer Posse (version {version}; this one knows {})",
            path.display(),
            MIGRATIONS.len()
        );
        return Err(StoreError::Failed(message));
    }
    Ok(connection)
}

/// Makes a file ready. Going over to WAL does not wait for another process that does the same, as everything
/// else does, but fails at once: then it is tried again.
fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        let prepared = go_over_to_wal(connection).and_then(|()| migrate(connection));
        match prepared {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < BUSY_MAX =>
            {
                std::thread::sleep(BUSY_PAUSE);
            }
            prepared => return prepared,
        }
    }
}

fn go_over_to_wal(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")
}

/// Opens a file that is at the newest version, to read.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| describe(path, &error))?;
    connection.busy_timeout(BUSY_MAX).map_err(|error| describe(path, &error))?;
    Ok(connection)
}

fn version(connection: &Connection) -> rusqlite::Result<usize> {
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? >= MIGRATIONS.len() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it meanwhile.
    let applied = version(&transaction)?;
    for migration in MIGRATIONS.iter().skip(applied) {
        transaction.execute_batch(migration)?;
    }
    let newest = u32::try_from(MIGRATIONS.len().max(applied)).expect("migrations are few");
    transaction.pragma_update(None, "user_version", newest)?;
    transaction.commit()
}

/// Makes the derived table of a file anew from its events; gives how many runs there are.
pub fn rebuild(path: &Path) -> Result<usize, StoreError> {
    let mut connection = open(path)?;
    let failed = |error: rusqlite::Error| describe(path, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let count = rebuild_runs(&transaction).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    Ok(count)
}

fn rebuild_runs(transaction: &Transaction<'_>) -> rusqlite::Result<usize> {
    transaction.execute_batch(RUNS)?;
    transaction.execute(
        "INSERT INTO runs SELECT id, max(seq) + 1,
            coalesce(max(CASE WHEN type = 'ended' THEN CASE WHEN json_valid(data) THEN json_extract(data, '$.status') ELSE 'failed' END END), 'running')
         FROM events GROUP BY id",
        params![],
    )
}

/// What happened, with the file and what to do.
pub(super) fn describe(path: &Path, error: &rusqlite::Error) -> StoreError {
    use ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseCorrupt, DiskFull, NotADatabase, ReadOnly, SystemIoFailure,
    };
    let advice = match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => {
            "the file is damaged; move it away to begin a new one, or restore it from a backup"
        }
        Some(ReadOnly | CannotOpen) => "it cannot be opened to write; look at its permissions",
        Some(DiskFull) => "the disk is full; make room on it",
        Some(SystemIoFailure) => "the disk failed or is full",
        Some(DatabaseBusy) => "another process holds it; try again when that is done",
        _ => "",
    };
    let advice = if advice.is_empty() { String::new() } else { format!(" ({advice})") };
    StoreError::Failed(format!("{}: {error}{advice}", path.display()))
}
