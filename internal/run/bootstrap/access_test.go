package bootstrap

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"testing"
)

// TestForward passes two connections on, and ends both with its context.
func TestForward(t *testing.T) {
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	go func() {
		for {
			conn, err := far.Accept()
			if err != nil {
				return
			}
			go func() {
				line, _ := bufio.NewReader(conn).ReadString('\n')
				_, _ = fmt.Fprintf(conn, "heard %s", line)
			}()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- forward(ctx, "127.0.0.1:0", func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", far.Addr().String())
		}, func(address string) { ready <- address })
	}()
	address := <-ready
	for range 2 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(conn, "hello"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(conn).ReadString('\n'); line != "heard hello\n" {
			t.Errorf("got %q, %v", line, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestRedact takes values out of messages in every form in which they turn up.
func TestRedact(t *testing.T) {
	v := &values{secret: []string{"hunter2-long", "abc", "-----BEGIN KEY-----\nfirst line of the key\nsecond line of the key\n-----END KEY-----\n"}}
	for text, want := range map[string]string{
		"login with hunter2-long failed":                "login with [redacted] failed",
		"data aHVudGVyMi1sb25n is wrong":                "data [redacted] is wrong",
		"the alphabet begins with abc":                  "the alphabet begins with abc", // too short to take out
		"line 3: second line of the key: bad":           "line 3: [redacted]: bad",
		"it begins with -----BEGIN KEY----- as it must": "it begins with -----BEGIN KEY----- as it must",
	} {
		if got := v.redact(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
