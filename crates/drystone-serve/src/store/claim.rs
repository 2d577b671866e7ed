//! Mark in a bucket that shows that a service uses the prefix, so that a second service notices before it claims
//! worlds.
//!
//! The mark names a service and a number that the service increments with each heartbeat. A starting service that
//! finds a mark waits for a lease: if the number changes meanwhile, the other service is alive. No clocks are
//! compared. The mark guards against operating mistakes; the logs of the worlds are what keeps two services from one
//! world ([`super::bucket`]).

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

use super::client::error_message;
use super::ledger::LedgerOwner;
use super::{FencedCallback, Trouble};

/// Interval of the heartbeats, in units of the bucket's patience.
const BEAT: f64 = 0.5;
/// Time without a heartbeat after which a service counts as dead, in units of the bucket's patience.
const LEASE: f64 = 1.5;
/// Timeout for reading or writing the mark, in units of the bucket's patience: a heartbeat with both is shorter than
/// a lease.
const BEAT_PART: f64 = 0.4;
/// Time to remove the mark at the end.
const GOODBYE: Duration = Duration::from_secs(2);

/// Content of the mark.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct ClaimMark {
    owner: LedgerOwner,
    beat: u64,
}

/// Mark of a bucket's prefix.
pub struct BucketClaim {
    /// Name of the bucket, for messages.
    pub name: String,
    pub place: Path,
    pub client: Arc<dyn ObjectStore>,
    pub owner: LedgerOwner,
    pub patience: Duration,
    pub ended: AtomicBool,
    /// Held between reading the mark and changing it.
    pub time_slice: tokio::sync::Mutex<()>,
    /// Id of the service that was taken over: it may write its mark once more before it reads the new one.
    pub before: Mutex<Option<u64>>,
    /// Callback for the name of the service that has taken over.
    pub fenced: Mutex<Option<FencedCallback>>,
}

impl BucketClaim {
    /// Reads the mark. None if it is missing or unreadable.
    async fn read(&self, limit: Duration) -> io::Result<Option<ClaimMark>> {
        let read = async { self.client.get(&self.place).await?.bytes().await };
        match timeout(limit, read).await {
            Ok(Ok(bytes)) => Ok(serde_json::from_slice(&bytes).ok()),
            Ok(Err(Error::NotFound { .. })) => Ok(None),
            Ok(Err(error)) => Err(io::Error::other(format!("{}: {}", self.name, error_message(&error)))),
            Err(_) => Err(Trouble::Away(format!("{} does not answer", self.name)).into()),
        }
    }

    async fn write(&self, beat: u64, limit: Duration) -> io::Result<()> {
        let mark = serde_json::to_vec(&ClaimMark { owner: self.owner.clone(), beat })?;
        match timeout(limit, self.client.put(&self.place, mark.into())).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(io::Error::other(format!("{}: {}", self.name, error_message(&error)))),
            Err(_) => Err(Trouble::Away(format!("{} does not answer", self.name)).into()),
        }
    }

    /// Sets the mark. If another mark exists, waits for a lease first, unless this service takes over.
    ///
    /// # Errors
    /// Another service is alive, or the bucket fails.
    pub async fn begin(&self, take_over: bool) -> io::Result<()> {
        let limit = 2 * self.patience;
        let first = self.read(limit).await?;
        if take_over {
            *self.before.lock().unwrap_or_else(PoisonError::into_inner) = first.map(|mark| mark.owner.id);
        } else if let Some(first) = first {
            let lease = self.patience.mul_f64(LEASE);
            tracing::info!(
                of = first.owner.name,
                seconds = lease.as_secs_f64(),
                "the store has the mark of a service; checking whether it is alive"
            );
            let end = Instant::now() + lease;
            while Instant::now() < end {
                sleep(self.patience.mul_f64(BEAT / 4.0)).await;
                match self.read(limit).await? {
                    Some(now) if now != first => {
                        return Err(io::Error::new(
                            io::ErrorKind::AddrInUse,
                            format!(
                                "another service uses it: {}. Stop it, take another prefix, or take its worlds over with \
                                 s3.take_over = true (DRYSTONE_S3_TAKE_OVER=true), which ends it",
                                now.owner.name
                            ),
                        ));
                    }
                    Some(_) => {}
                    // The other service has stopped in order.
                    None => break,
                }
            }
        }
        self.write(0, limit).await
    }

    /// Sends heartbeats until the end, and reports a service that has taken over.
    pub async fn beat(&self) {
        let mut beat = 0;
        let limit = self.patience.mul_f64(BEAT_PART);
        while !self.ended.load(Ordering::SeqCst) {
            sleep(self.patience.mul_f64(BEAT)).await;
            let _turn = self.time_slice.lock().await;
            match self.read(limit).await {
                Ok(Some(mark)) if mark.owner.id != self.owner.id && !self.is_before(&mark) => {
                    // Without a callback yet, a later heartbeat reports it.
                    let tell = self.fenced.lock().unwrap_or_else(PoisonError::into_inner).take();
                    if let Some(tell) = tell {
                        self.ended.store(true, Ordering::SeqCst);
                        tell(format!("the store is now with another service: {}", mark.owner.name));
                    }
                }
                Ok(_) if !self.ended.load(Ordering::SeqCst) => {
                    beat += 1;
                    // A failed write is made up for by the next heartbeat.
                    let _ = self.write(beat, limit).await;
                }
                // While the bucket is unreachable, no other service can take over.
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Returns true for a mark of the service that was taken over.
    fn is_before(&self, mark: &ClaimMark) -> bool {
        self.before.lock().unwrap_or_else(PoisonError::into_inner).as_ref() == Some(&mark.owner.id)
    }

    /// Removes the mark, so that the next service need not wait. Another service's mark stays.
    pub async fn end(&self) {
        if self.ended.swap(true, Ordering::SeqCst) {
            return;
        }
        let remove = async {
            let _turn = self.time_slice.lock().await;
            if let Ok(Some(mark)) = self.read(GOODBYE).await
                && mark.owner.id == self.owner.id
            {
                let _ = self.client.delete(&self.place).await;
            }
        };
        let _ = timeout(GOODBYE, remove).await;
    }
}
