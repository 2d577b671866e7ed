//! Store in a bucket of an object store with the S3 protocol.
//!
//! ```text
//! PREFIX/owner                                        mark of the service that uses the bucket (claim.rs)
//! PREFIX/worlds/ID/world                              as in a folder (folder.rs)
//! PREFIX/worlds/ID/log/000000000042                   a part of a log: JSON with the log and the writer; records
//! PREFIX/worlds/ID/checkpoint-00000007.000000000031.000002
//! PREFIX/worlds/ID/saved-NAME.000000000031.000001     files, with the writer's fence and a sequence number
//! ```
//!
//! Nothing can be appended to an object. Records that arrive while a part is being written go into the next part,
//! and are acknowledged once that part is stored. Parts are numbered through the life of a world and written on the
//! condition that no part with that number exists (`If-None-Match: *`), so that two services never both write the
//! next one.
//!
//! A service claims a world by a part of the log, a fence. The previous owner then finds its next number taken when
//! it writes, and writes nothing more. It cannot have acknowledged anything in between, because the fence directly
//! follows everything it stored. A fence lists the existing files; files of the previous owner that arrive later do
//! not count. So the service that came last owns a world, with everything the other has acknowledged, and a service
//! that was killed leaves nothing behind that must be waited for.
//!
//! A log begins with its first records, in the same part. As in a folder, its header says how the previous log
//! ended. A log without records does not exist, and none is closed: the part numbers replace that.
//!
//! A missing response leaves open whether an object was written. The write is retried until that is known; if it
//! takes too long, the world is claimed again, and the new fence settles the question.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use tokio::runtime::Runtime;
use tokio::sync::MutexGuard;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::claim::BucketClaim;
use super::client::{LARGE, client, error_message, is_refusal, owner};
use super::ledger::{Head, Ledger, LedgerOwner, Version, file_key, part, part_key, part_number};
use super::{BUCKET, Beginning, FencedCallback, StoreBackend, Trouble, WORLD, WriteCallback, frame, log_number};
use crate::config::S3;

/// Number of requests at the same time, per purpose.
const AT_ONCE: usize = 16;
/// Number of attempts to claim a world that others claim as well.
const MAX_TRIES: usize = 8;

/// Store in a bucket.
pub(super) struct Bucket {
    inner: Arc<BucketInner>,
    /// Runtime of the requests. None once the store is closed.
    runtime: Option<Runtime>,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket").field("name", &self.inner.name).finish_non_exhaustive()
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        // The dropping thread must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// State of a world once it was used. Parts of its log are written one after the other.
type WorldLedger = Arc<tokio::sync::Mutex<Option<Ledger>>>;

struct BucketInner {
    /// Name for messages.
    name: String,
    root: Path,
    /// Client that retries by itself, for operations that may be repeated.
    calm: Arc<dyn ObjectStore>,
    /// Client that tries once, so that a missing response is noticed.
    once: Arc<dyn ObjectStore>,
    patience: Duration,
    owner: LedgerOwner,
    claim: BucketClaim,
    nonce: AtomicU64,
    worlds: Mutex<HashMap<String, WorldLedger>>,
}

/// Result of writing an object that must not exist before.
enum Put {
    Done,
    /// Another writer's object exists.
    Other(Vec<u8>),
}

impl Bucket {
    /// Opens a bucket, given its name and prefix. Also returns the bytes in it.
    pub fn open(name: &str, s3: &S3) -> io::Result<(Self, u64)> {
        // Other code in this process may have installed a provider of rustls already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (bucket, prefix) = name.split_once('/').unwrap_or((name, ""));
        let root = Path::parse(prefix.trim_end_matches('/')).map_err(io::Error::other)?;
        let patience = Duration::from_secs_f64(s3.patience_seconds);
        let client =
            |retries| client(bucket, s3, retries, patience).map_err(|error| io::Error::other(error_message(&error)));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_name("store").enable_all().build()?;
        let (owner, calm) = (owner(), client(10)?);
        let claim = BucketClaim {
            name: format!("{BUCKET}{name}"),
            place: root.clone().join("owner"),
            client: calm.clone(),
            owner: owner.clone(),
            patience,
            ended: AtomicBool::new(false),
            time_slice: tokio::sync::Mutex::default(),
            before: Mutex::default(),
            fenced: Mutex::default(),
        };
        let inner = BucketInner {
            name: claim.name.clone(),
            root,
            calm,
            once: client(0)?,
            patience,
            owner,
            claim,
            nonce: AtomicU64::new(0),
            worlds: Mutex::default(),
        };
        let bucket = Self { inner: Arc::new(inner), runtime: Some(runtime) };
        let take_over = s3.take_over;
        bucket.wait(move |inner| async move {
            inner.probe().await?;
            inner.claim.begin(take_over).await
        })?;
        let beat = |inner: Arc<BucketInner>| async move {
            inner.claim.beat().await;
            Ok(())
        };
        bucket.later(beat, Box::new(drop));
        let used = bucket.wait(|inner| async move { inner.sweep().await })?;
        Ok((bucket, used))
    }

    /// Waits for asynchronous work. Must not be called on a thread of the runtime.
    fn wait<T: Send + 'static, F: Future<Output = io::Result<T>> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<BucketInner>) -> F,
    ) -> io::Result<T> {
        let stopping = || io::Error::other("the service is stopping");
        let (done, outcome) = mpsc::channel();
        let work = work(self.inner.clone());
        self.runtime.as_ref().ok_or_else(stopping)?.spawn(async move {
            let _ = done.send(work.await);
        });
        outcome.recv().map_err(|_| stopping())?
    }

    fn later<F: Future<Output = io::Result<()>> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<BucketInner>) -> F,
        done: WriteCallback,
    ) {
        let work = work(self.inner.clone());
        match &self.runtime {
            Some(runtime) => {
                runtime.spawn(async move { done(work.await) });
            }
            None => done(Err(io::Error::other("the service is stopping"))),
        }
    }
}

impl StoreBackend for Bucket {
    fn worlds(&self) -> io::Result<Vec<String>> {
        self.wait(|inner| async move {
            let objects = inner.list(&inner.root.clone().join("worlds")).await?;
            let worlds = objects.iter().filter_map(|(key, _)| key.strip_suffix("/world"));
            Ok(worlds.map(str::to_owned).collect())
        })
    }

    fn names(&self, id: &str) -> io::Result<Vec<String>> {
        let id = id.to_owned();
        self.wait(|inner| async move { Ok(inner.world(&id).lock().await.open()?.names()) })
    }

    fn create(&self, id: &str, bytes: Vec<u8>, _: Vec<u8>) -> io::Result<()> {
        let id = id.to_owned();
        self.wait(|inner| async move {
            let place = inner.place(&id, WORLD);
            match inner.put_new(&place, bytes, LARGE).await {
                Ok(Put::Done) => Ok(()),
                Ok(Put::Other(_)) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(error) => {
                    // The world has not been announced. If the object exists after all, it is an empty world.
                    let _ = timeout(inner.patience, inner.once.delete(&place)).await;
                    Err(error)
                }
            }
        })
    }

    fn write(&self, id: &str, name: &str, bytes: Vec<u8>) -> io::Result<u64> {
        let (id, name) = (id.to_owned(), name.to_owned());
        self.wait(|inner| async move { inner.write(&id, &name, bytes).await })
    }

    fn read(&self, id: &str, name: &str) -> io::Result<Vec<u8>> {
        let (id, name) = (id.to_owned(), name.to_owned());
        self.wait(|inner| async move {
            let key = {
                let world = inner.world(&id);
                let mut ledger = world.lock().await;
                let cached = ledger.as_mut().and_then(|ledger| ledger.cache.remove(&name));
                match cached {
                    Some(bytes) => return Ok(bytes),
                    None if name == WORLD => name,
                    None => {
                        let ledger = ledger.open()?;
                        if let Some(bytes) = ledger.log_bytes(&name)? {
                            return Ok(bytes);
                        }
                        let version = ledger.files.get(&name).copied();
                        file_key(&name, version.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?)
                    }
                }
            };
            inner.get(&inner.place(&id, &key)).await
        })
    }

    fn begin(&self, _: &str, _: &Beginning) -> io::Result<bool> {
        // A log begins with its first records.
        Ok(false)
    }

    fn append(&self, id: &str, log: u64, _: u64, bytes: &[u8]) -> io::Result<()> {
        let (id, bytes) = (id.to_owned(), bytes.to_vec());
        self.wait(|inner| async move { inner.append(&id, log, bytes).await })
    }

    fn remove(&self, id: &str, name: &str) -> io::Result<u64> {
        let (id, name) = (id.to_owned(), name.to_owned());
        self.wait(|inner| async move { inner.remove(&id, &name).await })
    }

    fn write_note(&self, id: &str, bytes: Vec<u8>) -> io::Result<()> {
        let place = self.inner.note(id);
        self.wait(|inner| async move {
            match timeout(LARGE, inner.calm.put(&place, bytes.into())).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(inner.away(&error)),
                Err(_) => Err(inner.silent()),
            }
        })
    }

    fn note(&self, id: &str) -> io::Result<Vec<u8>> {
        let place = self.inner.note(id);
        self.wait(|inner| async move { inner.get(&place).await })
    }

    fn notes(&self) -> io::Result<Vec<String>> {
        self.wait(|inner| async move {
            let objects = inner.list(&inner.root.clone().join("deleted")).await?;
            Ok(objects.into_iter().map(|(key, _)| key).collect())
        })
    }

    fn remove_note(&self, id: &str) -> io::Result<()> {
        let place = self.inner.note(id);
        self.wait(|inner| async move {
            match timeout(inner.patience, inner.calm.delete(&place)).await {
                Ok(Ok(()) | Err(Error::NotFound { .. })) => Ok(()),
                Ok(Err(error)) => Err(inner.away(&error)),
                Err(_) => Err(inner.silent()),
            }
        })
    }

    fn delete(&self, id: &str) -> io::Result<u64> {
        let id = id.to_owned();
        self.wait(|inner| async move { inner.delete(&id).await })
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn when_taken(&self, tell: FencedCallback) {
        *self.inner.claim.fenced.lock().unwrap_or_else(PoisonError::into_inner) = Some(tell);
    }

    fn leave(&self) {
        let _ = self.wait(|inner| async move {
            inner.claim.end().await;
            Ok(())
        });
    }

    fn take(&self, id: &str, done: WriteCallback) {
        let id = id.to_owned();
        self.later(|inner| async move { inner.take(&id).await }, done);
    }

    fn append_later(&self, id: &str, log: u64, bytes: Vec<u8>, done: WriteCallback) {
        let id = id.to_owned();
        self.later(|inner| async move { inner.append(&id, log, bytes).await }, done);
    }
}

/// Access to the ledger of a claimed world.
trait OwnedLedger {
    fn open(&mut self) -> io::Result<&mut Ledger>;
    /// Returns the ledger unless a failure forbids writing.
    fn writable(&mut self) -> io::Result<&mut Ledger>;
}

impl OwnedLedger for MutexGuard<'_, Option<Ledger>> {
    fn open(&mut self) -> io::Result<&mut Ledger> {
        self.as_mut().ok_or_else(|| Trouble::Away("the world is not open yet".to_owned()).into())
    }

    fn writable(&mut self) -> io::Result<&mut Ledger> {
        let ledger = self.open()?;
        match &ledger.trouble {
            Some(trouble) => Err(trouble.clone().into()),
            None => Ok(ledger),
        }
    }
}

impl BucketInner {
    fn folder(&self, id: &str) -> Path {
        self.root.clone().join("worlds").join(id)
    }

    /// Returns the path of a note about a deleted world.
    fn note(&self, id: &str) -> Path {
        self.root.clone().join("deleted").join(id)
    }

    fn place(&self, id: &str, key: &str) -> Path {
        key.split('/').fold(self.folder(id), Path::join)
    }

    fn world(&self, id: &str) -> WorldLedger {
        let mut worlds = self.worlds.lock().unwrap_or_else(PoisonError::into_inner);
        worlds.entry(id.to_owned()).or_default().clone()
    }

    /// Lists the keys below a prefix, without it, and their sizes.
    async fn list(&self, prefix: &Path) -> io::Result<Vec<(String, u64)>> {
        let listed = timeout(4 * self.patience, self.calm.list(Some(prefix)).try_collect::<Vec<_>>()).await;
        let objects = listed.map_err(|_| self.silent())?.map_err(|error| self.away(&error))?;
        let below = |path: &Path| Some(path.prefix_match(prefix)?.collect::<Path>().to_string());
        Ok(objects.into_iter().filter_map(|object| Some((below(&object.location)?, object.size))).collect())
    }

    async fn get(&self, place: &Path) -> io::Result<Vec<u8>> {
        let read = async { self.calm.get(place).await?.bytes().await };
        match timeout(LARGE, read).await {
            Ok(Ok(bytes)) => Ok(bytes.into()),
            Ok(Err(error)) => Err(self.away(&error)),
            Err(_) => Err(self.silent()),
        }
    }

    /// Converts an error of a read request.
    fn away(&self, error: &Error) -> io::Error {
        match error {
            Error::NotFound { .. } => io::Error::new(io::ErrorKind::NotFound, error_message(error)),
            error if is_refusal(error) => io::Error::new(io::ErrorKind::PermissionDenied, self.says(error)),
            error => Trouble::Away(self.says(error)).into(),
        }
    }

    fn says(&self, error: &Error) -> String {
        format!("{}: {}", self.name, error_message(error))
    }

    fn silent(&self) -> io::Error {
        Trouble::Away(format!("{} does not answer", self.name)).into()
    }

    /// Writes an object that must not exist before.
    async fn put_new(&self, place: &Path, bytes: Vec<u8>, limit: Duration) -> io::Result<Put> {
        let payload = PutPayload::from(bytes);
        let start = Instant::now();
        let mut pause = Duration::from_millis(50);
        // Set if an earlier attempt may have succeeded, or may yet.
        let mut doubt: Option<String> = None;
        loop {
            let options = PutOptions::from(PutMode::Create);
            let put = self.once.put_opts(place, payload.clone(), options);
            match timeout_at(start + limit, put).await {
                Ok(Ok(_)) => return Ok(Put::Done),
                Ok(Err(Error::AlreadyExists { .. })) => {
                    let found = timeout_at(start + limit, self.get(place)).await;
                    match found.unwrap_or_else(|_| Err(self.silent())) {
                        Ok(found) if payload.iter().flatten().eq(&found) => return Ok(Put::Done),
                        Ok(found) => return Ok(Put::Other(found)),
                        // Two writes at the same time, one of which is not visible yet.
                        Err(error) => doubt = Some(error.to_string()),
                    }
                }
                Ok(Err(error)) if is_refusal(&error) && doubt.is_none() => {
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, self.says(&error)));
                }
                Ok(Err(error)) => doubt = Some(self.says(&error)),
                Err(_) => doubt = Some(self.silent().to_string()),
            }
            if start.elapsed() + pause >= self.patience.min(limit) {
                return Err(Trouble::InDoubt(doubt.unwrap_or_default()).into());
            }
            sleep(pause).await;
            pause = (2 * pause).min(Duration::from_secs(1));
        }
    }

    fn nonce(&self) -> u64 {
        self.nonce.fetch_add(1, Ordering::Relaxed)
    }

    /// Checks that the store honours the condition: otherwise two services could write the same part.
    async fn probe(&self) -> io::Result<()> {
        let place = self.root.clone().join("conditions-hold");
        for _ in 0..2 {
            // Different each time, so that it does not look like this service's own object.
            let text = format!("Tried by drystone {}: only the first may write this. {}", self.owner.id, self.nonce());
            if let Put::Other(_) = self.put_new(&place, text.into_bytes(), self.patience).await? {
                return Ok(());
            }
        }
        let detail = "it ignores `If-None-Match: *`, which keeps two services from each other's worlds";
        Err(io::Error::new(io::ErrorKind::Unsupported, detail))
    }

    /// Removes the remains of deleted worlds. Returns the bytes of the rest.
    async fn sweep(&self) -> io::Result<u64> {
        let worlds = self.root.clone().join("worlds");
        let objects = self.list(&worlds).await?;
        let mut sizes: BTreeMap<&str, (bool, u64)> = BTreeMap::new();
        for (key, size) in &objects {
            let Some((id, rest)) = key.split_once('/') else { continue };
            let (whole, sum) = sizes.entry(id).or_default();
            *whole |= rest == WORLD;
            *sum += size;
        }
        let left = objects.iter().filter(|(key, _)| {
            let id = key.split_once('/').map(|(id, _)| id);
            id.is_some_and(|id| sizes.get(id).is_some_and(|(whole, _)| !whole))
        });
        let left = left.map(|(key, _)| key.split('/').fold(worlds.clone(), Path::join));
        self.forget(left.collect()).await;
        Ok(sizes.values().filter(|(whole, _)| *whole).map(|(_, sum)| sum).sum())
    }

    /// Removes objects that are not needed, as far as possible.
    async fn forget(&self, places: Vec<Path>) {
        let removed = stream::iter(places).map(|place| async move { self.calm.delete(&place).await.is_ok() });
        removed.buffered(AT_ONCE).for_each(|_| async {}).await;
    }

    async fn append(&self, id: &str, log: u64, bytes: Vec<u8>) -> io::Result<()> {
        let world = self.world(id);
        let mut ledger = world.lock().await;
        let ledger = ledger.writable()?;
        let head = ledger.head(log, &self.owner, self.nonce());
        self.write_part(id, ledger, head, &bytes).await
    }

    async fn write_part(&self, id: &str, ledger: &mut Ledger, head: Head, records: &[u8]) -> io::Result<()> {
        let bytes = frame(&serde_json::to_vec(&head)?, records)?;
        let size = bytes.len() as u64;
        let place = self.place(id, &part_key(ledger.next));
        match self.put_new(&place, bytes, self.patience).await {
            Ok(Put::Done) => {
                ledger.wrote(head, size);
                Ok(())
            }
            Ok(Put::Other(found)) => Err(fenced(ledger, &head, found)),
            Err(error) => {
                if let Some(trouble @ Trouble::InDoubt(_)) = Trouble::of(&error) {
                    ledger.trouble = Some(trouble.clone());
                }
                Err(error)
            }
        }
    }

    /// Checks that this service still owns the world.
    async fn check(&self, id: &str, ledger: &mut Ledger) -> io::Result<()> {
        let place = self.place(id, &part_key(ledger.next));
        match timeout(2 * self.patience, self.calm.head(&place)).await {
            Ok(Err(Error::NotFound { .. })) => Ok(()),
            Ok(Ok(_)) => {
                let found = self.get(&place).await?;
                let head = ledger.head(ledger.log(), &self.owner, 0);
                Err(fenced(ledger, &head, found))
            }
            Ok(Err(error)) => Err(self.away(&error)),
            Err(_) => Err(self.silent()),
        }
    }

    async fn write(&self, id: &str, name: &str, bytes: Vec<u8>) -> io::Result<u64> {
        let world = self.world(id);
        let version = {
            let mut ledger = world.lock().await;
            let ledger = ledger.writable()?;
            ledger.written += 1;
            Version { term: ledger.term, sequence: ledger.written, size: bytes.len() as u64 }
        };
        // The log can be written meanwhile.
        let place = self.place(id, &file_key(name, version));
        match timeout(LARGE, self.calm.put(&place, PutPayload::from(bytes))).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) if is_refusal(&error) => {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, self.says(&error)));
            }
            Ok(Err(error)) => return Err(Trouble::InDoubt(self.says(&error)).into()),
            Err(_) => return Err(Trouble::InDoubt(self.silent().to_string()).into()),
        }
        let mut ledger = world.lock().await;
        let ledger = ledger.writable()?;
        // Older files are removed from now on. The next owner could need them if it had come before this file
        // existed.
        self.check(id, ledger).await?;
        if ledger.term != version.term {
            return Err(Trouble::InDoubt("the world was reopened meanwhile".to_owned()).into());
        }
        let Some(old) = ledger.files.insert(name.to_owned(), version) else { return Ok(0) };
        self.forget(vec![self.place(id, &file_key(name, old))]).await;
        Ok(old.size)
    }

    async fn remove(&self, id: &str, name: &str) -> io::Result<u64> {
        let world = self.world(id);
        let mut ledger = world.lock().await;
        let ledger = ledger.writable()?;
        if let Some(log) = log_number(name) {
            let numbers = ledger.parts_of(log);
            self.forget(numbers.iter().map(|&number| self.place(id, &part_key(number))).collect()).await;
            return Ok(numbers.iter().filter_map(|number| ledger.parts.remove(number)).map(|part| part.size).sum());
        }
        let Some(version) = ledger.files.get(name).copied() else { return Ok(0) };
        self.check(id, ledger).await?;
        self.calm.delete(&self.place(id, &file_key(name, version))).await.map_err(|error| self.away(&error))?;
        ledger.files.remove(name);
        Ok(version.size)
    }

    async fn delete(&self, id: &str) -> io::Result<u64> {
        let world = self.world(id);
        let mut guard = world.lock().await;
        // A damaged world that was never opened can be deleted, but not one of another service.
        if let Some(ledger) = guard.as_mut() {
            if let Some(trouble @ Trouble::Taken(_)) = &ledger.trouble {
                return Err(trouble.clone().into());
            }
            self.check(id, ledger).await?;
        }
        let objects = self.list(&self.folder(id)).await?;
        // First the file that makes it a world. If the rest is not reached, the next opening of the store removes
        // it.
        self.calm.delete(&self.place(id, WORLD)).await.map_err(|error| self.away(&error))?;
        *guard = None;
        self.worlds.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.forget(objects.iter().map(|(key, _)| self.place(id, key)).collect()).await;
        Ok(objects.iter().map(|(_, size)| size).sum())
    }

    /// Reads the log and claims the world by writing its next part.
    async fn take(&self, id: &str) -> io::Result<()> {
        let world = self.world(id);
        let mut guard = world.lock().await;
        let before = guard.as_ref().map(|ledger| (ledger.term, ledger.trouble.clone()));
        if let Some((_, Some(trouble @ Trouble::Taken(_)))) = before {
            return Err(trouble.into());
        }
        for _ in 0..MAX_TRIES {
            let objects = self.list(&self.folder(id)).await?;
            if !objects.iter().any(|(key, _)| key == WORLD) {
                return Err(io::ErrorKind::NotFound.into());
            }
            let Some(parts) = self.parts(id, &objects).await? else { continue };
            let (mut ledger, stray) = Ledger::read(&objects, parts);
            // Claimed by a later service, which was not known yet.
            if let (Some((term, _)), Some((number, owner))) = (&before, ledger.owner())
                && number > *term
                && owner.id != self.owner.id
            {
                let trouble = Trouble::Taken(has(owner));
                ledger.trouble = Some(trouble.clone());
                *guard = Some(ledger);
                return Err(trouble.into());
            }
            let fence = Some(ledger.file_keys());
            let head = Head { fence, ..ledger.head(ledger.log(), &self.owner, self.nonce()) };
            let bytes = frame(&serde_json::to_vec(&head)?, &[])?;
            let size = bytes.len() as u64;
            match self.put_new(&self.place(id, &part_key(ledger.next)), bytes, self.patience).await? {
                Put::Done => {}
                Put::Other(_) => continue,
            }
            ledger.wrote(head, size);
            self.forget(stray.iter().map(|key| self.place(id, key)).collect()).await;
            ledger.cache.insert(WORLD.to_owned(), self.get(&self.place(id, WORLD)).await?);
            let newest = ledger.files.iter().rev().find(|(name, _)| name.starts_with("checkpoint-"));
            if let Some((name, &version)) = newest {
                let bytes = self.get(&self.place(id, &file_key(name, version))).await?;
                ledger.cache.insert(name.clone(), bytes);
            }
            let answers = ledger.files.iter().filter(|(name, _)| name.starts_with("keys-"));
            let answers: Vec<_> = answers.map(|(name, &version)| (name.clone(), file_key(name, version))).collect();
            let mut reads = stream::iter(answers.into_iter().map(|(name, key)| {
                let place = self.place(id, &key);
                async move { Ok::<_, io::Error>((name, self.get(&place).await?)) }
            }))
            .buffer_unordered(AT_ONCE);
            while let Some((name, bytes)) = reads.try_next().await? {
                ledger.cache.insert(name, bytes);
            }
            drop(reads);
            *guard = Some(ledger);
            return Ok(());
        }
        Err(Trouble::Away(format!("{}: other services claim world {id} as well", self.name)).into())
    }

    /// Reads all parts of a log. None if one of them has been removed meanwhile.
    async fn parts(
        &self,
        id: &str,
        objects: &[(String, u64)],
    ) -> io::Result<Option<BTreeMap<u64, super::ledger::LogPart>>> {
        let mut numbers: Vec<u64> = objects.iter().filter_map(|(key, _)| part_number(key)).collect();
        numbers.sort_unstable();
        let places = numbers.iter().map(|&number| self.place(id, &part_key(number))).collect::<Vec<_>>();
        let read = stream::iter(places).map(|place| async move { self.get(&place).await });
        let read: Vec<io::Result<Vec<u8>>> = read.buffered(AT_ONCE).collect().await;
        let mut before = Head { log: 0, first: 1, owner: self.owner.clone(), nonce: 0, fence: None };
        let mut parts = BTreeMap::new();
        for (number, bytes) in numbers.into_iter().zip(read) {
            match bytes {
                Ok(bytes) => {
                    let part = part(bytes, &before);
                    before = part.head.clone();
                    parts.insert(number, part);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(parts))
    }
}

/// Records that another service wrote the next part, and returns that error.
fn fenced(ledger: &mut Ledger, head: &Head, found: Vec<u8>) -> io::Error {
    let found = part(found, head);
    let who = if found.damage.is_some() {
        "another program has written to this world".to_owned()
    } else {
        has(&found.head.owner)
    };
    let trouble = Trouble::Taken(who);
    ledger.trouble = Some(trouble.clone());
    trouble.into()
}

fn has(owner: &LedgerOwner) -> String {
    format!("the world is now with another service: {}", owner.name)
}
