//! Connections that are pipes within the process. Nothing waits for the operating system, so a test may stop the clock: it moves only
//! when every task has done what it can.

use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use crate::transport::{self, ClientMaker};

/// Clients whose connections `dial` opens.
pub(crate) fn client_maker(dial: impl Fn() -> Pipe + Send + Sync + 'static) -> ClientMaker {
    let dial = Arc::new(dial);
    transport::maker(tower::service_fn(move |_: Uri| {
        ready(Ok::<_, Infallible>(TokioIo::new(dial())))
    }))
}

/// One end of a pipe.
pub(crate) struct Pipe {
    end: DuplexStream,
    /// HTTP/2 was agreed on.
    is_http2: bool,
}

impl Pipe {
    pub(crate) fn of_http1(end: DuplexStream) -> Self {
        Self {
            end,
            is_http2: false,
        }
    }

    #[cfg(test)]
    pub(crate) fn of_http2(end: DuplexStream) -> Self {
        Self {
            end,
            is_http2: true,
        }
    }
}

impl Connection for Pipe {
    fn connected(&self) -> Connected {
        match self.is_http2 {
            true => Connected::new().negotiated_h2(),
            false => Connected::new(),
        }
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.end).poll_read(context, buffer)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.end).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.end).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.end).poll_shutdown(context)
    }
}
