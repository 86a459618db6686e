//! A run that may reach only some hosts: through the proxy, and no other way.

use std::io::{Read, Write};
use std::net::TcpListener;

use expect_test::expect;
use posse_runtime::child::{HostPattern, Isolation, Network};

use crate::lab::{as_nobody, can, lab, run};

/// A server that says what it was asked, as often as it is asked.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        while let Ok((mut client, _)) = listener.accept() {
            let mut bytes = [0; 4096];
            let read = client.read(&mut bytes).unwrap_or(0);
            let first = String::from_utf8_lossy(&bytes[..read]).lines().next().unwrap_or_default().to_owned();
            let body = format!("asked: {first}\n");
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            drop(client.write_all(answer.as_bytes()));
        }
    });
    port
}

/// A request by hand, since not every machine has curl: the proxy's address, what to send first, what to send then.
const ASK: &str = "ask() { exec 3<>/dev/tcp/127.0.0.1/3128; printf \"$1\" >&3; if [ -n \"$2\" ]; then IFS= read -r line <&3; \
    read -r _ <&3; printf \"$2\" >&3; fi; cat <&3 | tr -d '\\r' | grep -v '^Content-\\|^Connection\\|^$'; }; ";

#[tokio::test]
async fn the_proxy_reaches_what_is_allowed_and_nothing_else() {
    if !can(Isolation::Sandbox).await {
        return;
    }
    let (allowed, other) = (server(), server());
    let pattern: HostPattern = format!("localhost:{allowed}").parse().expect("a pattern");
    let lab = lab();
    let processes = lab.processes(Isolation::Sandbox, Network::Hosts(vec![pattern]));
    let text = format!(
        "{ASK}
        echo $HTTPS_PROXY $http_proxy
        echo; ask 'GET http://localhost:{allowed}/plain HTTP/1.1\\r\\n\\r\\n'
        echo; ask 'CONNECT localhost:{allowed} HTTP/1.1\\r\\n\\r\\n' 'GET /tunnel HTTP/1.1\\r\\n\\r\\n'
        echo; ask 'CONNECT localhost:{other} HTTP/1.1\\r\\n\\r\\n'
        echo; ask 'CONNECT 127.0.0.1:{allowed} HTTP/1.1\\r\\n\\r\\n'
        echo; ask 'CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n'
        echo; ask 'GET / HTTP/1.1\\r\\nHost: localhost:{allowed}\\r\\n\\r\\n'
        echo; (exec 4<>/dev/tcp/127.0.0.1/{allowed}) 2>/dev/null && echo reached || echo not reached"
    );
    let (_, output) = run(&processes, lab.shell(&text)).await;
    processes.close().await;
    let shown = String::from_utf8_lossy(&output)
        .replace(&allowed.to_string(), "ALLOWED")
        .replace(&other.to_string(), "OTHER");
    expect![[r#"
        http://127.0.0.1:3128 http://127.0.0.1:3128

        HTTP/1.1 200 OK
        asked: GET /plain HTTP/1.1

        HTTP/1.1 200 OK
        asked: GET /tunnel HTTP/1.1

        HTTP/1.1 403 Forbidden
        posse: localhost:OTHER is not among the hosts that this run may reach

        HTTP/1.1 403 Forbidden
        posse: 127.0.0.1:ALLOWED is not among the hosts that this run may reach

        HTTP/1.1 403 Forbidden
        posse: evil.example:443 is not among the hosts that this run may reach

        HTTP/1.1 400 Bad Request
        posse: this is not a request to a proxy

        not reached
    "#]]
    .assert_eq(&shown);
}

#[test]
fn the_proxy_serves_a_user_without_rights() {
    as_nobody("hosts::the_proxy_reaches_what_is_allowed_and_nothing_else");
}
