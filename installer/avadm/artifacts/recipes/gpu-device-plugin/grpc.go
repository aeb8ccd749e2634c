package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// gRPC over HTTP/2 without TLS on a unix socket: each message has a prefix of 5 bytes (compressed or not, length), and the
// trailer grpc-status says how the call ended. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md

const (
	statusOK            = 0
	statusInvalid       = 3
	statusNotFound      = 5
	statusPrecondition  = 9
	statusUnimplemented = 12
	statusUnknown       = 2
	most                = 4 << 20 // bytes of a message, as grpc's own default
)

// status is an error with gRPC's number for it.
type status struct {
	code int
	text string
}

func (s *status) Error() string { return fmt.Sprintf("%s (gRPC status %d)", s.text, s.code) }

func failed(code int, format string, values ...any) error {
	return &status{code, fmt.Sprintf(format, values...)}
}

// call answers one request: send may be called more than once where the answer is a stream.
type call func(ctx context.Context, request message, send func(message) error) error

func cleartext() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// newServer returns a server of these calls by path ("/SERVICE/METHOD").
func newServer(calls map[string]call) *http.Server {
	return &http.Server{Protocols: cleartext(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		err := answer(w, r, calls[r.URL.Path])
		code, text := statusOK, ""
		if err != nil {
			code, text = statusUnknown, err.Error()
			var s *status
			if errors.As(err, &s) {
				code, text = s.code, s.text
			}
		}
		w.Header().Set("Grpc-Status", strconv.Itoa(code))
		w.Header().Set("Grpc-Message", strings.ReplaceAll(url.QueryEscape(text), "+", "%20"))
	})}
}

func answer(w http.ResponseWriter, r *http.Request, do call) error {
	if do == nil {
		return failed(statusUnimplemented, "%s is not known here", r.URL.Path)
	}
	request, err := readFrame(r.Body)
	if err != nil {
		return failed(statusInvalid, "%v", err)
	}
	return do(r.Context(), request, func(m message) error {
		if _, err := w.Write(frame(m)); err != nil {
			return err
		}
		return http.NewResponseController(w).Flush()
	})
}

func frame(m message) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))), m...)
}

func readFrame(r io.Reader) (message, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("no message: %w", err)
	}
	size := binary.BigEndian.Uint32(head[1:])
	if head[0] != 0 || size > most {
		return nil, fmt.Errorf("a message of %d bytes, compressed %d, is not understood", size, head[0])
	}
	m := make(message, size)
	if _, err := io.ReadFull(r, m); err != nil {
		return nil, fmt.Errorf("half a message: %w", err)
	}
	return m, nil
}

// invoke calls a method of the server at a unix socket and returns its answer.
func invoke(ctx context.Context, socket, method string, request message) (message, error) {
	transport := &http.Transport{Protocols: cleartext(), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+method, bytes.NewReader(frame(request)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("Te", "trailers")
	answered, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer answered.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answered.Body, most))
	if err != nil {
		return nil, err
	}
	// An error without an answer has them among the headers.
	trailer := answered.Trailer
	if trailer.Get("Grpc-Status") == "" {
		trailer = answered.Header
	}
	if code, err := strconv.Atoi(trailer.Get("Grpc-Status")); err != nil || code != statusOK {
		return nil, &status{code, fmt.Sprintf("%s: %s %s", method, answered.Status, trailer.Get("Grpc-Message"))}
	}
	return readFrame(bytes.NewReader(body))
}
