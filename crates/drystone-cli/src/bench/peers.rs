//! Runs Box2D and Rapier in a program of their own ([`drystone_bench`]): finds and starts it, sends jobs, and detects
//! when it hangs or dies.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use drystone_bench::{PROTOCOL, PeerInfo, PeerJob, PeerReply, PeerRequest, PeerRun};

use super::super::failure::{Code, Failure, reason};
use super::super::stop;

/// Environment variable with the path of the program.
const VARIABLE: &str = "DRYSTONE_PEERS";
/// Folder of its build, relative to the root of the repository.
const BUILT: &str = "benches/peers/target/release";
/// Remedy if the program is missing.
const HOW_TO_BUILD: &str = "build it with `cd benches/peers && cargo build --release` in Drystone's repository (it \
                            needs a C compiler), or name it with --peers or DRYSTONE_PEERS";
/// Maximum length of a line from the program, in bytes: the final state of more bodies than a scene file can hold.
const MAX_LINE: u64 = 1 << 30;
/// Number of bytes kept of the program's standard error.
const STDERR_KEPT: usize = 1 << 12;
/// Interval at which a waiting thread checks for Ctrl-C.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Returns the path of the program: as given, from the environment, beside this program, or in its build folder.
///
/// # Errors
/// If a path was given and is not a file. If none was given and there is no program, the result is `None`.
pub fn find(asked: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    let named = asked.map(|path| ("--peers", path.to_owned()));
    let variable = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
    let named = named.or_else(|| variable.map(|path| (VARIABLE, PathBuf::from(path))));
    if let Some((how, path)) = named {
        if path.is_file() {
            return Ok(Some(path));
        }
        return Err(Failure::usage(format_args!("{how} {}: no such program", path.display())).hint(HOW_TO_BUILD));
    }
    let name = format!("peers{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join(&name)));
    Ok(beside.into_iter().chain([Path::new(BUILT).join(&name)]).find(|path| path.is_file()))
}

/// Returns the note that other engines are left out, as none was requested and the program is missing.
pub fn left_out() -> String {
    format!("Box2D and Rapier are left out: the program that runs them, peers, was not found; {HOW_TO_BUILD}")
}

/// Returns the failure for a requested engine whose program is missing.
pub fn missing(engine: &str) -> Failure {
    Failure::usage(format_args!("{engine} runs in a separate program, peers, which was not found")).hint(HOW_TO_BUILD)
}

/// The running peers program.
#[derive(Debug)]
pub struct Peers {
    child: Child,
    input: ChildStdin,
    output: Receiver<PeerLine>,
    stderr_end: Arc<Mutex<Vec<u8>>>,
    /// Thread that collects the end of its standard error.
    listener: JoinHandle<()>,
    shown: String,
    patience: Duration,
    /// Engines that it can run.
    pub about: PeerInfo,
}

/// A line from the program, or the reason why there is none.
#[derive(Debug)]
enum PeerLine {
    Text(Vec<u8>),
    TooLong,
    Unreadable(String),
}

impl Peers {
    /// Starts the program and asks for its engines. It counts as hung if it reports no progress for `patience`.
    ///
    /// # Errors
    /// If it does not start, or does not speak the protocol.
    pub fn start(path: &Path, patience: Duration) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        // Prefixed with `.`, as a plain name would be looked up in the search path.
        let program = if path.components().count() == 1 { Path::new(".").join(path) } else { path.to_owned() };
        let mut child = Command::new(program)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| Failure::usage(format_args!("{shown} does not start: {}", reason(&e))))?;
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            unreachable!("all three are piped");
        };
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(line) = read_line(&mut output, MAX_LINE) {
                let last = !matches!(line, PeerLine::Text(_));
                if sender.send(line).is_err() || last {
                    break;
                }
            }
        });
        let stderr_end = Arc::new(Mutex::new(Vec::new()));
        let kept = stderr_end.clone();
        let listener = std::thread::spawn(move || listen(errors, &kept));
        let about = PeerInfo { protocol: 0, engines: Vec::new() };
        let mut peers = Self { child, input, output: receiver, stderr_end, listener, shown, patience, about };
        match peers.ask(&PeerRequest::About)? {
            PeerReply::About(about) if about.protocol == PROTOCOL && !about.engines.is_empty() => {
                peers.about = about;
                Ok(peers)
            }
            PeerReply::About(PeerInfo { protocol, .. }) if protocol != PROTOCOL => Err(peers.failure(&format!(
                "speaks protocol version {protocol}, not {PROTOCOL}: build both programs from the same source"
            ))),
            other => Err(peers.nonsense(&other)),
        }
    }

    /// Runs a scene. The inner error is the reason why the engine cannot run it.
    ///
    /// # Errors
    /// If the program hangs, dies or sends an invalid answer, or after Ctrl-C.
    pub fn run(&mut self, job: PeerJob, bodies: usize) -> Result<Result<PeerRun, String>, Failure> {
        match self.ask(&PeerRequest::Run(job))? {
            PeerReply::Refused(why) => Ok(Err(why.lines().next().unwrap_or_default().to_owned())),
            PeerReply::Ran(ran) => {
                let times = [ran.times.ms, ran.times.first_ms, ran.times.cpu_ms.unwrap_or(0.0)];
                let stages = ran.stages_ms.iter().map(|&(_, ms)| ms);
                if times.into_iter().chain(stages).any(|ms| !ms.is_finite() || ms < 0.0) {
                    return Err(self.failure("sent invalid times"));
                }
                if ran.bodies.len() != bodies {
                    let said = ran.bodies.len();
                    return Err(self.failure(&format!("sent {said} bodies for a scene with {bodies}")));
                }
                Ok(Ok(ran))
            }
            other => Err(self.nonsense(&other)),
        }
    }

    fn ask(&mut self, request: &PeerRequest) -> Result<PeerReply, Failure> {
        // Serialisation cannot fail: the keys are strings, and no `Serialize` implementation fails.
        let line = serde_json::to_string(request).unwrap_or_default() + "\n";
        if self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush()).is_err() {
            return Err(self.died());
        }
        let (mut heard, mut step) = (Instant::now(), None);
        loop {
            let left = self.patience.saturating_sub(heard.elapsed());
            if left.is_zero() {
                let seconds = self.patience.as_secs_f64();
                return Err(self
                    .failure(&format!("has reported no progress for {seconds} s"))
                    .hint("increase --peers-timeout"));
            }
            stop::check("no file was written")?;
            match self.output.recv_timeout(left.min(STOP_CHECK_INTERVAL)) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.died()),
                Ok(PeerLine::TooLong) => return Err(self.failure("sent a line that is too long")),
                Ok(PeerLine::Unreadable(why)) => return Err(self.failure(&format!("cannot be read: {why}"))),
                Ok(PeerLine::Text(line)) => match serde_json::from_slice(&line) {
                    // Only an increasing step counts as progress.
                    Ok(PeerReply::Alive(now)) => {
                        if step.is_none_or(|step| step < now) {
                            (heard, step) = (Instant::now(), Some(now));
                        }
                    }
                    Ok(reply) => return Ok(reply),
                    Err(error) => {
                        let start: String = String::from_utf8_lossy(&line).chars().take(60).collect();
                        return Err(self.failure(&format!("sent {start:?}, which is not a valid answer ({error})")));
                    }
                },
            }
        }
    }

    fn nonsense(&self, reply: &PeerReply) -> Failure {
        let start: String = format!("{reply:?}").chars().take(60).collect();
        self.failure(&format!("sent {start}, which does not answer the request"))
    }

    fn died(&mut self) -> Failure {
        // It has closed its output and may need a moment to end.
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut status = self.child.try_wait();
        while matches!(status, Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
            status = self.child.try_wait();
        }
        // The last part of its standard error may not have been read yet; another process that inherited it may keep it
        // open.
        while matches!(status, Ok(Some(_))) && !self.listener.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let how = match status {
            Ok(Some(status)) => format!("ended early ({})", shown_status(status)),
            _ => "closed its output early".to_owned(),
        };
        self.failure(&how)
    }

    /// Returns a failure with the last line of its standard error.
    fn failure(&self, what: &str) -> Failure {
        let said = self.stderr_end.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let said = String::from_utf8_lossy(&said).into_owned();
        let said = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let said: String = said.unwrap_or_default().chars().filter(|c| !c.is_control()).take(200).collect();
        let said = if said.is_empty() { said } else { format!("; its last message: {said}") };
        Failure::new(Code::Check, format_args!("{} {what}{said}", self.shown))
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn shown_status(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"))
}

/// Reads a line without its end; `None` after the last.
fn read_line(from: &mut impl BufRead, longest: u64) -> Option<PeerLine> {
    let mut line = Vec::new();
    match from.take(longest).read_until(b'\n', &mut line) {
        Ok(0) => None,
        Ok(_) if line.last() == Some(&b'\n') => {
            line.pop();
            Some(PeerLine::Text(line))
        }
        Ok(read) if read as u64 == longest => Some(PeerLine::TooLong),
        // Incomplete: the program died.
        Ok(_) => None,
        Err(error) => Some(PeerLine::Unreadable(reason(&error))),
    }
}

/// Keeps the end of a stream.
fn listen(mut errors: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut piece = [0; 1024];
    while let Ok(read) = errors.read(&mut piece) {
        if read == 0 {
            break;
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&piece[..read]);
        let surplus = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_somewhere() {
        let mut from = &b"one\ntwo\n"[..];
        assert!(matches!(read_line(&mut from, 100), Some(PeerLine::Text(line)) if line == b"one"));
        assert!(matches!(read_line(&mut from, 4), Some(PeerLine::Text(line)) if line == b"two"));
        assert!(read_line(&mut from, 100).is_none());
        assert!(matches!(read_line(&mut &b"endless"[..], 4), Some(PeerLine::TooLong)));
        assert!(read_line(&mut &b"cut off"[..], 100).is_none());
    }

    #[test]
    fn the_end_of_standard_error_is_kept() {
        let kept = Mutex::new(Vec::new());
        let said = [vec![b'x'; 3 * STDERR_KEPT], b"the end".to_vec()].concat();
        listen(&said[..], &kept);
        let kept = kept.into_inner().unwrap();
        assert_eq!(kept.len(), STDERR_KEPT);
        assert!(kept.ends_with(b"the end"));
    }
}
