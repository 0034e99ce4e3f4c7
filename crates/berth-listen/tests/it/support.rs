//! A service to ask, a server that runs, and clients from several addresses of this machine.

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use berth_listen::{Callers, EventStream, Limits, ListenOptions, RequestBody, Server, Service, Usage};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::body::{Body, Frame};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::Interval,
};

/// Long enough for any machine; nothing waits for it but a test that fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// `GET /` says hello, `POST /` the length of the body, `POST /echo` the body, `GET /stream` never ends.
#[derive(Clone, Copy)]
pub(crate) struct Demo;

impl Service for Demo {
    type Body = BoxBody<Bytes, Infallible>;

    fn callers(&self) -> Callers {
        Callers::Known
    }

    async fn answer(&self, _: SocketAddr, request: Request<RequestBody>) -> Response<Self::Body> {
        if request.uri().path() == "/stream" {
            let mut response = Response::new(Endless(tokio::time::interval(KEEP_ALIVE)).boxed());
            response.extensions_mut().insert(EventStream);
            return response;
        }
        let is_echo = request.uri().path() == "/echo";
        match request.into_body().collect().await {
            Ok(body) if is_echo => Response::new(Full::from(body.to_bytes()).boxed()),
            Ok(body) => Response::new(Full::from(format!("{} bytes", body.to_bytes().len())).boxed()),
            Err(_) => {
                let mut response = Response::new(Full::from("the service's own words").boxed());
                *response.status_mut() = StatusCode::BAD_REQUEST;
                response
            }
        }
    }
}

/// A comment now and then, as the API's streams have them: a client that has gone is noticed when something is written.
struct Endless(Interval);

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let comment = Frame::data(Bytes::from_static(b": hello\n\n"));
        self.0.poll_tick(context).map(|_| Some(Ok(comment)))
    }
}

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) usage: Usage,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn plain(limits: Limits) -> Self {
        let options = ListenOptions {
            plain: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            limits,
            ..ListenOptions::default()
        };
        Self::start(options).await
    }

    pub(crate) async fn start(options: ListenOptions) -> Self {
        let server = Server::bind(options, Demo).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        Self {
            address: server.plain_address().or_else(|| server.tls_address()).unwrap(),
            usage: server.usage(),
            stop,
            task: tokio::spawn(server.run(async {
                let _ = stopped.await;
            })),
        }
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }

    /// A connection from `127.0.0.N`.
    pub(crate) async fn from(&self, last: u8) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        let own = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
        socket.bind(SocketAddr::new(own, 0)).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    /// Waits until the usage is as it should be.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Usage) -> bool) {
        let patient = async {
            while !is_so(&self.usage) {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, patient).await;
        assert!(waited.is_ok(), "not {what}: {:?}", self.usage);
    }
}

/// Sends something, and reads until the server closes.
pub(crate) async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    // A server that turns a client away need not read its request.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    assert!(read.is_ok(), "no end after {:?}", String::from_utf8_lossy(&answer));
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends something, and reads the first bytes of the answer.
pub(crate) async fn begin(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 1024];
    let read = tokio::time::timeout(PATIENCE, stream.read(&mut answer)).await;
    let length = read.expect("no answer").unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

pub(crate) const GET: &str = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
pub(crate) const KEEP: &str = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[track_caller]
pub(crate) fn assert_refused(answer: &str, status: &str, reason: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    assert!(answer.contains(&format!("\"reason\":\"{reason}\"")), "{answer}");
    assert_eq!(answer.contains("retry-after: "), status == "503", "{answer}");
}
