package fetch_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/rollout-ladder/ladder/internal/repo/fetch"
)

// sshServer serves the repositories below a folder to one key.
type sshServer struct {
	address string
	host    ssh.Signer
	mu      sync.Mutex
	asked   []string // USER COMMAND
}

func newKey(t *testing.T) (ed25519.PrivateKey, ssh.Signer) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return private, signer
}

func serveSSH(t *testing.T, dir string, client ssh.PublicKey) *sshServer {
	t.Helper()
	s := &sshServer{}
	_, s.host = newKey(t)
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(client.Marshal()) {
			return nil, fmt.Errorf("unknown key")
		}
		return nil, nil
	}}
	config.AddHostKey(s.host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.serve(conn, config, dir) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return s
}

var uploadPack = regexp.MustCompile(`^git-upload-pack '([^']+)'$`)

func (s *sshServer) serve(conn net.Conn, config *ssh.ServerConfig, dir string) {
	defer func() { _ = conn.Close() }()
	c, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		for request := range requests {
			var command struct{ Text string }
			_ = ssh.Unmarshal(request.Payload, &command)
			s.mu.Lock()
			s.asked = append(s.asked, c.User()+" "+command.Text)
			s.mu.Unlock()
			m := uploadPack.FindStringSubmatch(command.Text)
			_ = request.Reply(request.Type == "exec" && m != nil, nil)
			if m == nil {
				continue
			}
			cmd := exec.Command("git", "upload-pack", filepath.Join(dir, m[1]))
			cmd.Stdout = channel
			in, err := cmd.StdinPipe()
			if err != nil || cmd.Start() != nil {
				return
			}
			go func() {
				buffer := make([]byte, 1<<12)
				for {
					n, err := channel.Read(buffer)
					_, _ = in.Write(buffer[:n])
					if err != nil {
						_ = in.Close()
						return
					}
				}
			}()
			_ = cmd.Wait()
			_ = channel.Close()
		}
	}
}

func TestSSH(t *testing.T) {
	forge := newForge(t)
	b := forge.repository(t, "org/app.git")
	id := b.commit("main", file("a", "1"))
	private, signer := newKey(t)
	s := serveSSH(t, forge.dir, signer.PublicKey())
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name string, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(home, ".ssh", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	get := func(address string, allow ...string) (fetch.Checkout, error) {
		return open(t, fetch.Options{AllowHosts: allow}).Repository(background, address)
	}
	address := "ssh://bot@" + s.address + "/org/app.git//?ref=main"

	_, err := get(address, s.address)
	_ = refused(t, err, "not in known_hosts")
	_, other := newKey(t)
	write("known_hosts", knownhosts.Line([]string{"other.example.com"}, s.host.PublicKey())+"\n")
	_, err = get(address, s.address)
	_ = refused(t, err, "not in known_hosts")
	write("known_hosts", knownhosts.Line([]string{s.address}, other.PublicKey())+"\n")
	_, err = get(address, s.address)
	_ = refused(t, err, "not the one in known_hosts")
	write("known_hosts", knownhosts.Line([]string{s.address}, s.host.PublicKey())+"\n")
	if _, err := get(address, s.address); err == nil {
		t.Error("the server takes nobody without a key")
	}
	_, err = get(address)
	_ = refused(t, err, "private network")
	if len(s.asked) != 0 {
		t.Fatalf("%q", s.asked)
	}

	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	write("id_ed25519", string(pem.EncodeToMemory(block)))
	got, err := get(address, s.address)
	if err != nil || got.Commit != id || contents(t, got.Dir) != "a: 1" {
		t.Errorf("%+v, %v", got, err)
	}
	if got := strings.Join(s.asked, "\n"); got != "bot git-upload-pack '/org/app.git'" {
		t.Errorf("%s", got)
	}
	if _, err := get("ssh://"+s.address+"/org/none.git", s.address); err == nil {
		t.Error("a repository that is not there")
	}

	// The agent of the user.
	if err := os.Remove(filepath.Join(home, ".ssh", "id_ed25519")); err != nil {
		t.Fatal(err)
	}
	keys := agent.NewKeyring()
	if err := keys.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(home, "agent")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(keys, conn) }()
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", socket)
	if got, err := get(address, s.address); err != nil || got.Commit != id {
		t.Errorf("%+v, %v", got, err)
	}

	// The time is bounded, also before the server says who it is.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	if _, err := get("ssh://bot@"+silent.Addr().String()+"/a/b?timeout=1ms", silent.Addr().String()); err == nil {
		t.Error("a server that says nothing")
	}
}
