package fetch

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// sshTalk is a conversation over SSH, with the agent and the default keys of the
// user. A host whose key is not in known_hosts is refused. ~/.ssh/config is not
// read: it may start programs.
type sshTalk struct {
	in     io.WriteCloser
	out    io.Reader
	ending []func()
}

func (f *Fetcher) talkSSH(ctx context.Context, r Repository) (_ *sshTalk, err error) {
	t := &sshTalk{}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	leave, err := f.ssh.enter(ctx, r.host)
	if err != nil {
		return nil, err
	}
	t.ending = append(t.ending, leave)
	config, err := t.config(r)
	if err != nil {
		return nil, err
	}
	conn, err := f.dialer.Dial(ctx, "tcp", r.Host)
	if err != nil {
		return nil, err
	}
	t.ending = append(t.ending, func() { _ = conn.Close() })
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	t.ending = append(t.ending, func() { stop() })
	wire := &limitedConn{Conn: conn, body: limited{ReadCloser: conn, left: f.limits.Pack + maxRefs, limit: f.limits.Pack, shown: r.URL()}}
	c, channels, requests, err := ssh.NewClientConn(wire, r.Host, config)
	if err != nil {
		return nil, hostKey(r, err)
	}
	client := ssh.NewClient(c, channels, requests)
	t.ending = append(t.ending, func() { _ = client.Close() })
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	if t.in, err = session.StdinPipe(); err != nil {
		return nil, err
	}
	if t.out, err = session.StdoutPipe(); err != nil {
		return nil, err
	}
	// The path has no quote: see pathForm.
	return t, session.Start(service + " '" + r.Path + "'")
}

// limitedConn bounds what a server may send.
type limitedConn struct {
	net.Conn
	body limited
}

// Read implements net.Conn.
func (c *limitedConn) Read(p []byte) (int, error) { return c.body.Read(p) }

func (t *sshTalk) config(r Repository) (*ssh.ClientConfig, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	var known []string
	for _, name := range []string{filepath.Join(home, ".ssh", "known_hosts"), "/etc/ssh/ssh_known_hosts"} {
		if _, err := os.Stat(name); err == nil {
			known = append(known, name)
		}
	}
	if len(known) == 0 {
		return nil, unknownHost(r)
	}
	hosts, err := knownhosts.NewDB(known...)
	if err != nil {
		return nil, fmt.Errorf("read known_hosts: %w", err)
	}
	user := r.User
	if user == "" {
		user = "git"
	}
	return &ssh.ClientConfig{
		User: user, Timeout: 2 * dialTimeout,
		Auth:              []ssh.AuthMethod{ssh.PublicKeysCallback(func() ([]ssh.Signer, error) { return t.signers(home), nil })},
		HostKeyCallback:   hosts.HostKeyCallback(),
		HostKeyAlgorithms: hosts.HostKeyAlgorithms(r.Host),
	}, nil
}

// signers returns the keys of the agent, and those of the usual files that have no
// passphrase.
func (t *sshTalk) signers(home string) (signers []ssh.Signer) {
	if socket := os.Getenv("SSH_AUTH_SOCK"); socket != "" {
		if conn, err := net.Dial("unix", socket); err == nil {
			t.ending = append(t.ending, func() { _ = conn.Close() })
			signers, _ = agent.NewClient(conn).Signers() // an agent that fails has none
		}
	}
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		text, err := os.ReadFile(filepath.Join(home, ".ssh", name))
		if err != nil {
			continue
		}
		if signer, err := ssh.ParsePrivateKey(text); err == nil {
			signers = append(signers, signer)
		}
	}
	return signers
}

// hostKey explains a key of the host that is not the known one.
func hostKey(r Repository, err error) error {
	switch {
	case knownhosts.IsHostUnknown(err):
		return unknownHost(r)
	case knownhosts.IsHostKeyChanged(err):
		return &RefusedError{Address: r.URL(), Reason: "its host key is not the one in known_hosts", Fix: "find out why before you change known_hosts"}
	default:
		return err
	}
}

func unknownHost(r Repository) error {
	return &RefusedError{Address: r.URL(), Reason: "its host key is not in known_hosts", Fix: "connect to the host once with ssh and verify its key, or use https"}
}

func (t *sshTalk) refs(context.Context) (*packp.AdvRefs, error) {
	server := packp.NewAdvRefs()
	return server, server.Decode(t.out)
}

func (t *sshTalk) pack(_ context.Context, request []byte) (io.ReadCloser, error) {
	if _, err := t.in.Write(request); err != nil {
		return nil, err
	}
	return io.NopCloser(t.out), nil
}

func (t *sshTalk) close() {
	for i := len(t.ending) - 1; i >= 0; i-- {
		t.ending[i]()
	}
}

// slots bound the conversations with each host.
type slots struct {
	mu    sync.Mutex
	hosts map[host]chan struct{}
}

func (s *slots) enter(ctx context.Context, h host) (leave func(), err error) {
	s.mu.Lock()
	if s.hosts == nil {
		s.hosts = map[host]chan struct{}{}
	}
	if s.hosts[h] == nil {
		s.hosts[h] = make(chan struct{}, perHost)
	}
	slot := s.hosts[h]
	s.mu.Unlock()
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
