//! Tests of the configuration: precedence of file, environment and command line, and messages for wrong values.

use super::*;

fn load(text: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("serve.toml");
    std::fs::write(&path, text).unwrap();
    let environment: Vec<_> = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Config::load(Some(&path), &environment).map_err(|error| error.to_string())
}

#[test]
fn one_token_of_several_has_half() {
    let token = Token::new("lab", "0123456789abcdef");
    let mut config = Config { tokens: vec![token.clone()], ..Config::default() };
    assert_eq!((config.worlds_of(&token), config.sockets_of(&token)), (256, 256));
    config.tokens.push(Token::new("other", "0123456789abcdeg"));
    assert_eq!((config.worlds_of(&token), config.sockets_of(&token)), (128, 128));
    let more = Token { worlds: Some(200), sockets: Some(1000), ..token };
    assert_eq!((config.worlds_of(&more), config.sockets_of(&more)), (200, 256));
}

#[test]
fn environment_over_file_over_defaults() {
    let text = "store = 'memory'\n[limits]\nbodies = 5\nworlds = 6\n";
    let config = load(text, &[("DRYSTONE_LIMITS_BODIES", "7"), ("DRYSTONE_STORE", "/srv/x"), ("HOME", "/")]).unwrap();
    assert_eq!((config.limits.bodies, config.limits.worlds), (7, 6));
    assert_eq!((config.store.as_str(), config.limits.rate), ("/srv/x", Limits::default().rate));
    let config = load("", &[("DRYSTONE_TOKEN", "0123456789abcdef")]).unwrap();
    assert_eq!(config.tokens, [Token::new("environment", "0123456789abcdef")]);
    let file = "[[tokens]]\nname = 'lab'\ntoken = 'token of the laboratory'\n";
    let config = load(file, &[("DRYSTONE_TOKEN", "0123456789abcdef")]).unwrap();
    assert_eq!(config.tokens.iter().map(|token| token.name.as_str()).collect::<Vec<_>>(), ["lab", "environment"]);
    config.check().unwrap();
}

#[test]
fn the_example_has_every_key_with_its_default() {
    let text = include_str!("../../../../deploy/drystone.toml");
    assert_eq!(load(text, &[]).unwrap(), Config::default());
    let written: toml::Table = toml::from_str(text).unwrap();
    let all = toml::Table::try_from(Config::default()).unwrap();
    for (key, value) in all.iter().filter(|(key, _)| *key != "tokens") {
        let there = written.get(key).unwrap_or_else(|| panic!("{key} is missing"));
        for inner in value.as_table().into_iter().flatten() {
            assert!(there.get(inner.0).is_some(), "{key}.{} is missing", inner.0);
        }
    }
}

#[test]
fn secrets_are_not_shown() {
    let text = "[s3]\naccess_key_id = 'me'\nendpoint = 'https://s3.example.org'\n";
    let variables = [("DRYSTONE_S3_SECRET_ACCESS_KEY", "quite secret"), ("DRYSTONE_TOKEN", "quite secret token")];
    let config = load(text, &variables).unwrap();
    assert_eq!(config.s3.secret_access_key.0, "quite secret");
    config.check().unwrap();
    for shown in [config.to_toml(), format!("{:?}", config.s3), format!("{config:?}")] {
        assert!(shown.contains("s3.example.org") && !shown.contains("quite"), "{shown}");
    }
    assert!(!format!("{:?}", config.tokens[0]).contains("quite"));
}

#[test]
fn a_bucket_has_a_name_and_keys_come_in_pairs() {
    let with = |place: &str| Config { store: place.to_owned(), ..Config::default() };
    assert_eq!(with("s3://worlds/here").check().is_ok(), cfg!(feature = "s3"));
    for wrong in ["s3://", "s3:///here", ""] {
        assert!(with(wrong).check().is_err(), "{wrong}");
    }
    let s3 = S3 { access_key_id: "me".to_owned(), ..S3::default() };
    assert!(Config { s3, ..Config::default() }.check().unwrap_err().to_string().contains("secret_access_key"));
    let s3 = S3 { session_token: Secret("of whom?".to_owned()), ..S3::default() };
    assert!(Config { s3, ..Config::default() }.check().unwrap_err().to_string().contains("session_token"));
    let s3 = S3 { endpoint: "minio:9000".to_owned(), ..S3::default() };
    assert!(Config { s3, ..Config::default() }.check().unwrap_err().to_string().contains("endpoint"));
}

#[test]
fn mistakes_are_named() {
    let error = load("listen = 'here'\n", &[]).unwrap_err();
    assert!(error.contains("serve.toml") && error.contains("line 1"), "{error}");
    assert!(load("limit = 1\n", &[]).unwrap_err().contains("unknown field `limit`"));
    let error = load("", &[("DRYSTONE_LIMITS_BODIES", "many")]).unwrap_err();
    assert!(error.contains("DRYSTONE_LIMITS_BODIES"), "{error}");
}

/// An error message about a mistake beside or inside a secret does not print the secret.
#[test]
fn mistakes_do_not_tell_secrets() {
    for (text, says) in [
        ("[[tokens]]\nname = 'a'\ntoken = 'hunter2hunter2hunter2'\nrate = 'fast'\n", "line 4"),
        ("[[tokens]]\nname = 'a'\ntoken = ['hunter2hunter2hunter2']\n", "line 3, column 9 (token)"),
        ("[[tokens]]\nname = 'a'\ntoken = hunter2hunter2hunter2\n", "line 3"),
        ("[[tokens]]\nname = 'a'\ntoken = 'hunter2hunter2hunter2\n", "line 3"),
        ("[[tokens]]\nname = 'a'\ntoken 'hunter2hunter2hunter2'\n", "line 3"),
        ("tokens = 'hunter2hunter2hunter2'\n", "line 1, column 10 (tokens): invalid type: string, expected a seq"),
        ("tokens = \"hunter2\\\"hunter2hunter2\"\n", "line 1"),
        ("[[tokens]]\nname = 'a'\ntoken = 'hunter2hunter2hunter2'\nrat = 1\n", "unknown field `rat`"),
        ("[s3]\nsecret_access_key = hunter2\n", "line 2"),
        ("[limits]\nbytes = 'hunter2'\n", "line 2, column 9 (bytes): invalid type: string, expected usize"),
    ] {
        let error = load(text, &[]).unwrap_err();
        assert!(error.contains(says) && !error.contains("hunter"), "{text}: {error}");
    }
    let error = load("", &[("DRYSTONE_LIMITS_BODIES", "hunter2")]).unwrap_err();
    assert!(!error.contains("hunter"), "{error}");
}

#[test]
fn tokens_that_do_not_fit_together() {
    let refused = |config: &Config| config.check().unwrap_err().to_string();
    let hosts = vec!["worlds.example.org".to_owned()];
    let mut config = Config { hosts, ..Config::default() };
    assert!(refused(&config).contains("worlds.example.org") && refused(&config).contains("token"));
    let (one, two) = (Token::new("one", "0123456789abcdef"), Token::new("two", "0123456789abcdef"));
    config.tokens = vec![one.clone()];
    config.check().unwrap();
    config.tokens.push(two);
    assert_eq!(refused(&config), "the tokens \"one\" and \"two\" are the same");
    config.tokens[1] = Token::new("anybody", "fedcba9876543210");
    assert!(refused(&config).contains("anybody"));
    config.tokens[1] = Token { memory_bytes: Some(1), ..Token::new("two", "fedcba9876543210") };
    assert!(refused(&config).contains("memory_bytes"));
    config.tokens[1] = Token { owner: Some("one".to_owned()), ..Token::new("two", "fedcba9876543210") };
    config.check().unwrap();
    assert_eq!(config.memory_of(&config.tokens[1]), 256 << 20, "a quarter");
    // Reloaded tokens may differ, but there must be some.
    let one = Config { tokens: vec![one], ..Config::default() };
    assert_eq!(config.with_tokens_of(&one).unwrap().tokens.len(), 1);
    assert_eq!(config.with_tokens_of(&one).unwrap().hosts, config.hosts);
    assert!(config.with_tokens_of(&Config::default()).is_err());
    assert_eq!(one.memory_of(&one.tokens[0]), 1 << 30, "alone");
}

#[test]
fn elsewhere_a_token_is_demanded() {
    let mut config = Config { listen: "0.0.0.0:80".parse().unwrap(), ..Config::default() };
    assert!(config.check().unwrap_err().to_string().contains("token"));
    config.tokens = vec![Token::new("a", "short")];
    assert!(config.check().is_err());
    config.tokens[0].token = Secret("long enough to be a token".to_owned());
    assert!(config.check().is_ok());
    config.tokens.push(Token::new("a", "another one of the same name"));
    assert!(config.check().unwrap_err().to_string().contains("two tokens"));
    assert!(Config::default().check().is_ok());
}
