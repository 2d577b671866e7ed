//! Minimal S3 server in memory, with injected faults.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Fault of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    No,
    /// Not executed; answered with this status.
    Status(u16),
    /// Executed without an answer.
    Lost,
    /// Neither executed nor answered.
    Cut,
    /// Executed later.
    Slow(Duration),
    /// The condition of a PUT is ignored.
    Blind,
    /// Requests wait until the rule changes.
    Held,
}

/// Fault by method and key.
type Rule = Box<dyn FnMut(&str, &str) -> Fault + Send>;

struct State {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    rule: Mutex<Rule>,
    puts: Mutex<u64>,
    /// Session tokens of the requests.
    tokens: Mutex<BTreeSet<String>>,
}

/// Object store with the bucket `worlds`. Its threads end with the process.
pub struct S3 {
    pub address: String,
    state: Arc<State>,
}

pub const KEY: &str = "AKIAEXAMPLEKEY";
pub const SECRET: &str = "a-secret-that-no-log-shows";
/// Keys per page of a list, small so that there are several pages.
const PAGE: usize = 5;

impl S3 {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let rule: Rule = Box::new(|_, _| Fault::No);
        let state =
            State { objects: Mutex::default(), rule: Mutex::new(rule), puts: Mutex::new(0), tokens: Mutex::default() };
        let state = Arc::new(state);
        let own = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = own.clone();
                std::thread::spawn(move || serve(&state, stream));
            }
        });
        Self { address, state }
    }

    /// Returns the environment of a service that uses it.
    pub fn settings(&self) -> Vec<(&'static str, &str)> {
        vec![
            ("S3_ENDPOINT", &self.address),
            ("S3_REGION", "here"),
            ("S3_ACCESS_KEY_ID", KEY),
            ("S3_SECRET_ACCESS_KEY", SECRET),
            ("S3_PATIENCE_SECONDS", "1"),
        ]
    }

    /// Sets the faults from now on.
    pub fn rule(&self, rule: impl FnMut(&str, &str) -> Fault + Send + 'static) {
        *self.state.rule.lock().unwrap() = Box::new(rule);
    }

    pub fn heal(&self) {
        self.rule(|_, _| Fault::No);
    }

    pub fn keys(&self) -> Vec<String> {
        self.state.objects.lock().unwrap().keys().cloned().collect()
    }

    /// Returns the number of objects written.
    pub fn puts(&self) -> u64 {
        *self.state.puts.lock().unwrap()
    }

    /// Returns the session tokens of requests since the last call; "" for none.
    pub fn tokens(&self) -> Vec<String> {
        std::mem::take(&mut *self.state.tokens.lock().unwrap()).into_iter().collect()
    }

    /// Flips a bit of an object.
    pub fn spoil(&self, key: &str) {
        let mut objects = self.state.objects.lock().unwrap();
        let bytes = objects.get_mut(key).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
    }
}

fn serve(state: &State, stream: TcpStream) -> Option<()> {
    // An answer is sent immediately.
    stream.set_nodelay(true).ok()?;
    let mut answers = stream.try_clone().ok()?;
    let mut requests = BufReader::new(stream);
    loop {
        let mut line = String::new();
        requests.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let mut words = line.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (mut length, mut conditional, mut signed, mut token) = (0, false, false, String::new());
        loop {
            let mut line = String::new();
            requests.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().ok()?,
                "if-none-match" => conditional = value.trim() == "*",
                "x-amz-security-token" => value.trim().clone_into(&mut token),
                "authorization" => signed = value.contains(&format!("Credential={KEY}/")),
                _ => {}
            }
        }
        state.tokens.lock().unwrap().insert(token);
        let mut body = vec![0; length];
        requests.read_exact(&mut body).ok()?;
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let key = path.strip_prefix("/worlds")?.trim_start_matches('/').to_owned();
        let mut fault = (state.rule.lock().unwrap())(&method, &key);
        while fault == Fault::Held {
            std::thread::sleep(Duration::from_millis(10));
            fault = (state.rule.lock().unwrap())(&method, &key);
        }
        match fault {
            Fault::Cut => return None,
            Fault::Slow(time) => std::thread::sleep(time),
            _ => {}
        }
        let (status, content) = match fault {
            Fault::Status(status) => (status, error(status)),
            _ if !signed => (403, error(403)),
            _ => act(state, &method, &key, query, body, conditional && fault != Fault::Blind),
        };
        if fault == Fault::Lost {
            return None;
        }
        let mut answer = format!(
            "HTTP/1.1 {status} -\r\nContent-Length: {}\r\nETag: \"1\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n",
            content.len()
        )
        .into_bytes();
        if method != "HEAD" {
            answer.extend(content);
        }
        answers.write_all(&answer).ok()?;
    }
}

/// Returns an error body like the real ones: it repeats the signed text, which must not be logged.
fn error(status: u16) -> Vec<u8> {
    let code = if status == 403 { "SignatureDoesNotMatch" } else { "SlowDown" };
    format!("<Error><Code>{code}</Code><Message>So it is.</Message><AWSAccessKeyId>{KEY}</AWSAccessKeyId><StringToSign>AWS4</StringToSign></Error>").into_bytes()
}

fn act(state: &State, method: &str, key: &str, query: &str, body: Vec<u8>, conditional: bool) -> (u16, Vec<u8>) {
    let mut objects = state.objects.lock().unwrap();
    match method {
        "PUT" if conditional && objects.contains_key(key) => {
            (412, b"<Error><Code>PreconditionFailed</Code></Error>".to_vec())
        }
        "PUT" => {
            *state.puts.lock().unwrap() += 1;
            objects.insert(key.to_owned(), body);
            (200, Vec::new())
        }
        "DELETE" => {
            objects.remove(key);
            (204, Vec::new())
        }
        "GET" | "HEAD" if !key.is_empty() => match objects.get(key) {
            Some(bytes) => (200, bytes.clone()),
            None => (404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
        },
        "GET" => {
            let parameter = |name: &str| {
                let found = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
                found.unwrap_or_default().replace("%2F", "/")
            };
            let (prefix, after) = (parameter("prefix"), parameter("continuation-token"));
            let mut found = objects.iter().filter(|(key, _)| key.starts_with(&prefix) && **key > after);
            let mut list = String::new();
            let mut last = "";
            for (key, bytes) in found.by_ref().take(PAGE) {
                last = key;
                let size = bytes.len();
                list += &format!(
                    "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>1</ETag><Size>{size}</Size></Contents>"
                );
            }
            let more = found.next().is_some();
            let token =
                if more { format!("<NextContinuationToken>{last}</NextContinuationToken>") } else { String::new() };
            let head = format!("<IsTruncated>{more}</IsTruncated>{token}");
            (200, format!("<?xml version=\"1.0\"?><ListBucketResult>{head}{list}</ListBucketResult>").into_bytes())
        }
        _ => (405, Vec::new()),
    }
}
