package cluster

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
)

// link is a line to the API server that can be cut.
type link struct {
	target string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// cut puts a link between the commands of the site and its cluster.
func (s *site) cut() *link {
	s.t.Helper()
	config, err := clientcmd.LoadFromFile(s.access)
	must(s.t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(s.t, err)
	s.t.Cleanup(func() { _ = listener.Close() })
	l := &link{conns: map[net.Conn]bool{}}
	for _, c := range config.Clusters {
		address, err := url.Parse(c.Server)
		must(s.t, err)
		l.target = address.Host
		c.Server = "https://" + listener.Addr().String()
	}
	s.access = filepath.Join(s.t.TempDir(), "kubeconfig")
	must(s.t, clientcmd.WriteToFile(*config, s.access))
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go l.carry(conn)
		}
	}()
	return l
}

func (l *link) carry(near net.Conn) {
	defer func() { _ = near.Close() }()
	far, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	l.mu.Lock()
	if l.cut {
		l.mu.Unlock()
		return
	}
	l.conns[near], l.conns[far] = true, true
	l.mu.Unlock()
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	}()
	_, _ = io.Copy(near, far)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, near)
	delete(l.conns, far)
}

func (l *link) down() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for c := range l.conns {
		_ = c.Close()
	}
}

func (l *link) up() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}
