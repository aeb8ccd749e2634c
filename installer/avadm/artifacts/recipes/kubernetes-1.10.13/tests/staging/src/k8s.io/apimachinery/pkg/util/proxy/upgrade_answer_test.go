package proxy

import (
	"bufio"
	"errors"
	"io"
	"io/ioutil"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// backend answers each connection with a text, and keeps what comes after the request; it never closes first.
type backend struct {
	listener net.Listener
	answer   string
	after    chan string
}

func newBackend(t *testing.T, answer string) *backend {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{listener, answer, make(chan string, 10)}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				reader := bufio.NewReader(conn)
				if _, err := http.ReadRequest(reader); err != nil {
					return
				}
				io.WriteString(conn, strings.Replace(b.answer, "HOST", listener.Addr().String(), -1))
				more, _ := ioutil.ReadAll(reader)
				b.after <- string(more)
			}()
		}
	}()
	return b
}

type responder struct{}

func (responder) Error(w http.ResponseWriter, req *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

// upgrade sends an upgrade request through the proxy, then "second" on the same connection, and returns all that came back.
func upgrade(t *testing.T, b *backend, intercept bool) (string, string) {
	defer b.listener.Close()
	location, _ := url.Parse("http://" + b.listener.Addr().String() + "/exec")
	handler := NewUpgradeAwareHandler(location, nil, false, false, responder{})
	handler.InterceptRedirects = intercept
	server := httptest.NewServer(handler)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
	conn.SetReadDeadline(time.Now().Add(3 * time.Second))
	reader := bufio.NewReader(conn)
	first, err := reader.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "second")
	conn.(*net.TCPConn).CloseWrite()
	rest, err := ioutil.ReadAll(reader)
	var timeout net.Error
	if err != nil && errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatalf("the connection stays open; so far: %s%s", first, rest)
	}
	sent := ""
	select {
	case sent = <-b.after:
	case <-time.After(3 * time.Second):
		t.Fatal("the backend's connection stays open")
	}
	return first + string(rest), sent
}

func TestAnAgreedUpgradeIsATunnelFromItsFirstByte(t *testing.T) {
	for _, intercept := range []bool{true, false} {
		b := newBackend(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nearly")
		got, sent := upgrade(t, b, intercept)
		if !strings.HasPrefix(got, "HTTP/1.1 101") || !strings.HasSuffix(got, "early") || sent != "second" {
			t.Errorf("intercept %v: got %q, the backend %q", intercept, got, sent)
		}
	}
}

func TestARefusedUpgradeIsPassedOnAndNothingFollowsIt(t *testing.T) {
	for _, intercept := range []bool{true, false} {
		for _, status := range []string{"400 Bad Request", "200 OK", "403 Forbidden"} {
			b := newBackend(t, "HTTP/1.1 "+status+"\r\nContent-Length: 4\r\nAccess-Control-Allow-Origin: *\r\n\r\nwhy?")
			got, sent := upgrade(t, b, intercept)
			if !strings.HasPrefix(got, "HTTP/1.1 "+status) || !strings.HasSuffix(got, "why?") || sent != "" {
				t.Errorf("%s, intercept %v: got %q, the backend %q", status, intercept, got, sent)
			}
			if strings.Contains(got, "Access-Control") {
				t.Errorf("the backend's CORS headers are passed on: %q", got)
			}
		}
	}
}

func TestARedirectOfAnUpgradeNeitherIsPassedOnNorLeavesTheServer(t *testing.T) {
	for _, target := range []string{"http://127.0.0.1:1/elsewhere", "https://HOST/other-scheme", "//127.0.0.2/elsewhere"} {
		b := newBackend(t, "HTTP/1.1 302 Found\r\nLocation: "+target+"\r\nContent-Length: 0\r\n\r\n")
		got, sent := upgrade(t, b, true)
		if !strings.HasPrefix(got, "HTTP/1.1 500") || !strings.Contains(got, "refused to follow") || sent != "" {
			t.Errorf("%s: got %q, the backend %q", target, got, sent)
		}
	}
	for _, status := range []string{"302 Found", "307 Temporary Redirect"} {
		b := newBackend(t, "HTTP/1.1 "+status+"\r\nLocation: http://HOST/elsewhere\r\nContent-Length: 0\r\n\r\n")
		got, sent := upgrade(t, b, false)
		if !strings.HasPrefix(got, "HTTP/1.1 500") || strings.Contains(got, "Location:") || sent != "" {
			t.Errorf("%s: got %q, the backend %q", status, got, sent)
		}
	}
}

func TestARedirectOnTheSameServerIsFollowed(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/exec", func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "/cri/exec/token", http.StatusFound)
	})
	mux.HandleFunc("/cri/exec/token", func(w http.ResponseWriter, req *http.Request) {
		http.Error(w, "reached by "+req.Method, http.StatusTeapot)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	location, _ := url.Parse(server.URL + "/exec")
	handler := NewUpgradeAwareHandler(location, nil, false, false, responder{})
	handler.InterceptRedirects = true
	front := httptest.NewServer(handler)
	defer front.Close()
	req, _ := http.NewRequest("POST", front.URL+"/exec", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "SPDY/3.1")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := ioutil.ReadAll(response.Body)
	if response.StatusCode != http.StatusTeapot || !strings.Contains(string(body), "reached by GET") {
		t.Errorf("got %d %q", response.StatusCode, body)
	}
}

func TestABackendThatIsNoHTTPServerIsAnError(t *testing.T) {
	b := newBackend(t, "SSH-2.0-OpenSSH_9\r\n")
	got, sent := upgrade(t, b, false)
	if !strings.HasPrefix(got, "HTTP/1.1 500") || sent != "" {
		t.Errorf("got %q, the backend %q", got, sent)
	}
}
