package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Folders below the one that run is given.
const (
	homeFolder = "home"
	tempFolder = "tmp"
	tlsFolder  = "tls"
	sshFolder  = "ssh"
	gpgFolder  = "gpg"
	binFolder  = "bin"
	logFolder  = "logs"
)

// askPassSocket is relative to the folder, which is the working folder of every
// part: the path of a socket may not be longer than 107 bytes.
const askPassSocket = "ask-pass.sock"

// makeFolders makes the folder with everything that the parts look for, and lets
// the binary be called as helm and kustomize.
func makeFolders(dir, executable string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of Argo CD: %w", err)
	}
	// Whoever opens a socket in it has what the repo server knows.
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("close the folder of Argo CD to other users: %w", err)
	}
	for _, name := range []string{homeFolder, tempFolder, tlsFolder, sshFolder, gpgFolder, binFolder, logFolder} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return fmt.Errorf("make the folder of Argo CD: %w", err)
		}
	}
	known := filepath.Join(dir, sshFolder, "ssh_known_hosts")
	if err := os.WriteFile(known, nil, 0o600); err != nil {
		return fmt.Errorf("make the folder of Argo CD: %w", err)
	}
	for _, name := range []string{helmName, kustomizeName} {
		link := filepath.Join(dir, binFolder, name)
		_ = os.Remove(link) // of an earlier run
		if err := os.Symlink(executable, link); err != nil {
			return fmt.Errorf("make the command %s: %w", name, err)
		}
	}
	return nil
}

// passedOn are the variables of the environment that a part sees as they are. How to
// reach sources elsewhere, and which authorities to trust, is for the repo server
// alone: proxies have passwords, and health checks in Lua may ask for variables.
func passedOn(part string) []string {
	all := []string{"LANG", "TZ"}
	if part == repoServer {
		all = append(all, "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")
	}
	return all
}

// environment is that of a part. Nothing of the user's own configuration of
// git, helm, SSH or GnuPG is seen.
func environment(o options, part string, getenv func(string) string) []string {
	in := func(folder string) string { return filepath.Join(o.dir, folder) }
	env := []string{
		"PATH=" + in(binFolder) + string(os.PathListSeparator) + getenv("PATH"),
		"HOME=" + in(homeFolder),
		"TMPDIR=" + in(tempFolder),
		"KUBECONFIG=" + o.kubeconfig,
		// The cluster of the Applications is the one of the kubeconfig.
		"ARGOCD_FAKE_IN_CLUSTER=true",
		"ARGOCD_TLS_DATA_PATH=" + in(tlsFolder),
		"ARGOCD_SSH_DATA_PATH=" + in(sshFolder),
		"ARGOCD_GNUPGHOME=" + in(gpgFolder),
		// What is rehearsed is a snapshot, which nobody has signed.
		"ARGOCD_GPG_ENABLED=false",
		"ARGOCD_ASK_PASS_SOCK=" + askPassSocket,
		"ARGOCD_SYNC_WAVE_DELAY=" + strconv.Itoa(int(o.waveDelay/time.Second)),
		// Some loggers are made before any argument is read.
		"ARGOCD_LOG_LEVEL=" + o.logLevel,
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		confineVariable + "=" + o.confine,
	}
	if o.offline {
		env = append(env, offlineVariable+"=1")
	}
	if o.clientQPS > 0 {
		env = append(env, "ARGOCD_K8S_CLIENT_QPS="+strconv.Itoa(o.clientQPS), "ARGOCD_K8S_CLIENT_BURST="+strconv.Itoa(2*o.clientQPS))
	}
	for _, name := range passedOn(part) {
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// lastLines are the last lines of a log, for an error.
func lastLines(path string, count int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
