package planetest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// strangerVariable makes the binary of a test a stranger; see Main.
	strangerVariable = "LADDER_TEST_STRANGER"
	// nobody is the user that owns nothing.
	nobody = 65534
	// strangerPatience is how long a stranger waits for one answer. Only what does
	// not refuse takes that long.
	strangerPatience = 10 * time.Second
)

// attempt is what a stranger is told to try.
type attempt struct {
	Sockets []Socket
	Folders []string
}

// WantRefused fails the test for every socket that another user of the machine can
// use, and for every folder that he can read. It tries, as that user. Only root can
// be another user: the test is skipped for anybody else.
func WantRefused(t testing.TB, sockets []Socket, folders ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can try as another user")
	}
	told, err := json.Marshal(attempt{sockets, folders})
	if err != nil {
		t.Fatal(err)
	}
	// The folders above the binary may be closed to the stranger.
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Dir, cmd.Env = "/", []string{strangerVariable + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Stdin = bytes.NewReader(told)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var complaints []string
	if err != nil || json.Unmarshal(out, &complaints) != nil {
		t.Fatalf("the stranger said nothing: %v\n%s%s", err, out, stderr.String())
	}
	for _, c := range complaints {
		t.Error(c)
	}
}

// stranger tries everything and writes what was not refused. It returns the exit
// code.
func stranger(stdin io.Reader, stdout io.Writer) int {
	var try attempt
	if err := json.NewDecoder(stdin).Decode(&try); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	complaints := []string{}
	complain := func(s Socket, format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf("%s %s (%s): ", s.Network, s.Address, s.Process)+fmt.Sprintf(format, args...))
	}
	for _, s := range try.Sockets {
		switch s.Network {
		case "unix":
			tryPath(s, complain)
		case "tcp":
			tryPort(s, complain)
		default:
			complain(s, "nobody is asked who he is")
		}
	}
	for _, folder := range try.Folders {
		if _, err := os.ReadDir(folder); !errors.Is(err, fs.ErrPermission) {
			complaints = append(complaints, fmt.Sprintf("%s can be read: %v", folder, err))
		}
	}
	if err := json.NewEncoder(stdout).Encode(complaints); err != nil {
		return 1
	}
	return 0
}

// reportFunc is told what is not refused.
type reportFunc func(s Socket, format string, args ...any)

// tryPath connects to a socket in the file system.
func tryPath(s Socket, complain reportFunc) {
	for _, network := range []string{"unix", "unixgram", "unixpacket"} {
		conn, err := net.Dial(network, s.Address)
		if err == nil {
			_ = conn.Close()
		}
		if !errors.Is(err, syscall.EACCES) {
			complain(s, "connecting (%s) is not forbidden: %v", network, err)
		}
	}
}

// tryPort speaks what servers without TLS understand, and HTTP over TLS.
func tryPort(s Socket, complain reportFunc) {
	if at, err := netip.ParseAddrPort(s.Address); err != nil || !at.Addr().IsLoopback() {
		complain(s, "reached from other machines: %v", err)
	}
	for _, words := range []string{
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST /raft HTTP/1.1\r\nHost: localhost\r\nX-Server-From: 1\r\nContent-Type: application/protobuf\r\nContent-Length: 2\r\n\r\n\x08\x00",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"*1\r\n$4\r\nPING\r\n",
		"\r\n\r\n\r\n",
	} {
		if answer, err := say(s.Address, words); err != nil || !refusal(answer) {
			complain(s, "it answers %q with %q, %v", words, answer, err)
			return
		}
	}
	for _, client := range []*http.Client{secured("http/1.1"), secured("h2")} {
		for _, r := range requests(s.Address) {
			answer, err := client.Do(r)
			if err != nil {
				if !closed(err) {
					complain(s, "%s %s: %v", r.Method, r.URL.Path, err)
				}
				continue
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusUnauthorized && answer.StatusCode != http.StatusForbidden {
				complain(s, "%s %s %v is answered with %s", r.Method, r.URL.Path, r.Header, answer.Status)
			}
		}
		client.CloseIdleConnections()
	}
}

// say sends words and reads the answer until the other side ends.
func say(address, words string) (string, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "", ignoreClosed(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(strangerPatience)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(words)); err != nil {
		return "", ignoreClosed(err)
	}
	answer, err := io.ReadAll(conn)
	return string(answer), ignoreClosed(err)
}

// refusal reports whether words without TLS are refused: by silence, by an alert of
// TLS, or by what Go's server tells somebody who speaks HTTP to it.
func refusal(answer string) bool {
	const alert = "\x15"
	return answer == "" || strings.HasPrefix(answer, alert) ||
		strings.HasPrefix(answer, "HTTP/1.0 400 ") && strings.HasSuffix(answer, "Client sent an HTTP request to an HTTPS server.\n")
}

// closed reports whether the other side has ended the conversation.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE) ||
		errors.As(err, new(tls.AlertError)) || errors.As(err, new(tls.RecordHeaderError))
}

func ignoreClosed(err error) error {
	if err != nil && closed(err) {
		return nil
	}
	return err
}

// secured is a client with no certificate that takes any of the server's.
func secured(protocol string) *http.Client {
	return &http.Client{
		Timeout: strangerPatience,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}, //nolint:gosec // the stranger knows no authority
			ForceAttemptHTTP2: protocol == "h2",
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// requests are what a stranger asks: what tells something, what changes something,
// and who he claims to be.
func requests(address string) []*http.Request {
	var all []*http.Request
	add := func(method, path string, header http.Header) {
		r, err := http.NewRequestWithContext(context.Background(), method, "https://"+address+path, http.NoBody)
		if err != nil {
			panic(err) // the address comes from the kernel
		}
		r.Header = header
		all = append(all, r)
	}
	for _, path := range []string{
		"/", "/version", "/healthz", "/livez", "/readyz?verbose", "/metrics", "/api", "/apis", "/openapi/v2", "/openapi/v3",
		"/debug/pprof/", "/.well-known/openid-configuration", "/api/v1/secrets", "/api/v1/namespaces/kube-public/configmaps",
	} {
		add(http.MethodGet, path, http.Header{})
	}
	for _, path := range []string{"/raft", "/raft/stream/message/1", "/members", "/api/webhook", "/api/v1/namespaces"} {
		add(http.MethodPost, path, http.Header{})
	}
	for _, claim := range []http.Header{
		{"Authorization": {"Bearer anything"}},
		{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}},
		{"Impersonate-User": {"admin"}, "Impersonate-Group": {"system:masters"}},
	} {
		add(http.MethodGet, "/api/v1/secrets", claim)
	}
	return all
}
