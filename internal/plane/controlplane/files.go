package controlplane

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rollout-ladder/ladder/internal/plane/child"
	"github.com/rollout-ladder/ladder/internal/plane/pki"
)

const (
	// certificateLife is longer than any plane is kept.
	certificateLife = 365 * 24 * time.Hour
	proxyClientName = "front-proxy-client"
	// serviceAddress is the first address of serviceRange, that of the Service
	// "kubernetes".
	serviceAddress = "10.96.0.1"
)

// pairFiles are the paths of a certificate and its key.
type pairFiles struct {
	certificate, key string
}

// files are the paths of what the components read from a plane's folder.
type files struct {
	authority, authorityKey string
	proxyAuthority          string
	server, proxyClient     pairFiles
	tokenKey                string

	admin, controllerManager, scheduler string
	// schedulerConfig is the configuration of the scheduler.
	schedulerConfig string
}

// credentials makes the certificates and kubeconfigs of a plane below dir.
type credentials struct {
	dir    string
	server string
	name   string
	now    time.Time
}

// write makes everything anew.
func (c credentials) write() (files, error) {
	folder := filepath.Join(c.dir, "pki")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return files{}, fmt.Errorf("make the folder of certificates: %w", err)
	}
	in := func(name string) string { return filepath.Join(folder, name) }
	f := files{
		authority: in("ca.crt"), authorityKey: in("ca.key"), proxyAuthority: in("proxy-ca.crt"),
		server:            pairFiles{in("server.crt"), in("server.key")},
		proxyClient:       pairFiles{in("proxy.crt"), in("proxy.key")},
		tokenKey:          in("tokens.key"),
		admin:             filepath.Join(c.dir, child.KubeconfigFile),
		controllerManager: in("controller-manager.kubeconfig"),
		scheduler:         in("scheduler.kubeconfig"),
		schedulerConfig:   in("scheduler.yaml"),
	}
	authority, err := pki.NewAuthority("ladder-plane", c.now, certificateLife)
	if err != nil {
		return files{}, err
	}
	proxyAuthority, err := pki.NewAuthority("ladder-plane-proxy", c.now, certificateLife)
	if err != nil {
		return files{}, err
	}
	server, err := authority.Issue(pki.Request{
		CommonName: "kube-apiserver",
		Names:      []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		Addresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(serviceAddress)},
	})
	if err != nil {
		return files{}, err
	}
	proxyClient, err := proxyAuthority.Issue(pki.Request{CommonName: proxyClientName})
	if err != nil {
		return files{}, err
	}
	tokenKey, err := pki.NewKey()
	if err != nil {
		return files{}, err
	}
	authorityKey, err := authority.Key()
	if err != nil {
		return files{}, err
	}
	scheduling, err := schedulerConfig(f.scheduler)
	if err != nil {
		return files{}, fmt.Errorf("write the configuration of the scheduler: %w", err)
	}
	for path, content := range map[string][]byte{
		f.schedulerConfig: scheduling,
		f.authority:       authority.Bundle(), f.authorityKey: authorityKey, f.proxyAuthority: proxyAuthority.Bundle(),
		f.server.certificate: server.Certificate, f.server.key: server.Key,
		f.proxyClient.certificate: proxyClient.Certificate, f.proxyClient.key: proxyClient.Key,
		f.tokenKey: tokenKey,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return files{}, fmt.Errorf("write the plane's certificates: %w", err)
		}
	}
	for _, user := range []struct {
		path   string
		client pki.Request
	}{
		{f.admin, pki.Request{CommonName: "ladder-admin", Organizations: []string{"system:masters"}}},
		{f.controllerManager, pki.Request{CommonName: "system:kube-controller-manager", Organizations: []string{"system:masters"}}},
		{f.scheduler, pki.Request{CommonName: "system:kube-scheduler"}},
	} {
		pair, err := authority.Issue(user.client)
		if err != nil {
			return files{}, err
		}
		if err := c.kubeconfig(user.path, authority.Bundle(), pair); err != nil {
			return files{}, err
		}
	}
	return f, nil
}

func (c credentials) kubeconfig(path string, bundle []byte, client pki.Pair) error {
	k := clientcmdapi.NewConfig()
	k.Clusters[c.name] = &clientcmdapi.Cluster{Server: c.server, CertificateAuthorityData: bundle}
	k.AuthInfos[c.name] = &clientcmdapi.AuthInfo{ClientCertificateData: client.Certificate, ClientKeyData: client.Key}
	k.Contexts[c.name] = &clientcmdapi.Context{Cluster: c.name, AuthInfo: c.name, Namespace: "default"}
	k.CurrentContext = c.name
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
