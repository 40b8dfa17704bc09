package fetch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/helmpath"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// keychain holds the credentials that the user has configured: those of netrc, and
// of the repositories and registries of Helm and Docker. Each is for one host.
type keychain struct {
	netrc      map[string]login // by name of host
	repos      map[host]login
	registries credentials.Store // nil where none are configured
	// names are the hosts of all of them.
	names []string
}

// login returns the credentials for a host over HTTPS.
func (k *keychain) login(h host) (login, bool) {
	if k == nil {
		return login{}, false
	}
	if l, ok := k.repos[h]; ok {
		return l, true
	}
	l, ok := k.netrc[h.name]
	return l, ok
}

// registry returns the credentials for a registry.
func (k *keychain) registry(ctx context.Context, name string) (auth.Credential, error) {
	if k == nil || k.registries == nil {
		return auth.EmptyCredential, nil
	}
	return credentials.Credential(k.registries)(ctx, name)
}

// openKeychain reads the files of the user. What cannot be read counts as empty.
func openKeychain() *keychain {
	home, _ := os.UserHomeDir() // without one only the variables count
	k := &keychain{netrc: map[string]login{}, repos: map[host]login{}}
	k.readNetrc(cmp.Or(os.Getenv("NETRC"), filepath.Join(home, ".netrc")))
	k.readRepositories(cmp.Or(os.Getenv("HELM_REPOSITORY_CONFIG"), helmpath.ConfigPath("repositories.yaml")))
	docker := filepath.Join(cmp.Or(os.Getenv("DOCKER_CONFIG"), filepath.Join(home, ".docker")), "config.json")
	k.readRegistries(cmp.Or(os.Getenv("HELM_REGISTRY_CONFIG"), helmpath.ConfigPath("registry", "config.json")), docker)
	k.names = append(k.names, slices.Sorted(maps.Keys(k.netrc))...)
	return k
}

// readNetrc reads the machines of a netrc file. Its default entry stands for any
// host, so it is left out: the repository chooses the hosts.
func (k *keychain) readNetrc(file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		return
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	var words []string
	macro := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			macro = false // a macro ends with an empty line
		case fields[0] == "macdef":
			macro = true
		case !macro && !strings.HasPrefix(line, "#"):
			words = append(words, fields...)
		}
	}
	machine := ""
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		l := k.netrc[machine]
		switch words[i] {
		case "default":
			machine = ""
			continue
		case "machine":
			machine = strings.ToLower(value)
		case "login":
			l.name = value
		case "password":
			l.password = value
		case "account":
		default:
			continue
		}
		i++
		if machine != "" && words[i-1] != "machine" {
			k.netrc[machine] = l
		}
	}
}

// readRepositories reads the repositories that "helm repo add" has noted.
func (k *keychain) readRepositories(file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		return
	}
	var config struct {
		Repositories []struct {
			URL      string `yaml:"url"`
			Username string `yaml:"username"`
			Password string `yaml:"password"`
		} `yaml:"repositories"`
	}
	if yaml.Unmarshal(data, &config) != nil {
		return
	}
	for _, entry := range config.Repositories {
		u, h, err := parseURL(entry.URL, "https")
		if err != nil {
			continue
		}
		l := login{entry.Username, entry.Password}
		if u.User != nil && l == (login{}) {
			l.name = u.User.Username()
			l.password, _ = u.User.Password()
		}
		if l != (login{}) {
			k.repos[h] = l
			k.names = append(k.names, h.String())
		}
	}
}

// readRegistries opens configuration files in the form of Docker. Helpers that they
// name are programs of the user, and are asked for the host of a registry only.
func (k *keychain) readRegistries(files ...string) {
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var config struct {
			Auths       map[string]json.RawMessage `json:"auths"`
			CredHelpers map[string]string          `json:"credHelpers"`
		}
		if json.Unmarshal(data, &config) != nil {
			continue
		}
		store, err := credentials.NewStore(file, credentials.StoreOptions{})
		if err != nil {
			continue
		}
		if k.registries == nil {
			k.registries = store
		} else {
			k.registries = credentials.NewStoreWithFallbacks(k.registries, store)
		}
		for _, name := range append(slices.Sorted(maps.Keys(config.Auths)), slices.Sorted(maps.Keys(config.CredHelpers))...) {
			if u, err := url.Parse(name); err == nil && u.Host != "" {
				name = u.Host
			}
			name, _, _ = strings.Cut(name, "/")
			k.names = append(k.names, name)
		}
	}
}
