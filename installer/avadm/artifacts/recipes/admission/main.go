// avadm-admission answers a Kubernetes API server whether Services, endpoints, Ingresses, Nodes and volumes may be as somebody wants them:
// what RBAC and policies of pods cannot say. It keeps nothing; it looks at objects for those who make volumes, and at the Ingresses of other namespaces.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const version = "1.4"

// An object of Kubernetes is at most 1 MiB in etcd; a request has two.
const largest = 8 << 20

type status struct {
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Code    int    `json:"code"`
}

type response struct {
	UID     string  `json:"uid"`
	Allowed bool    `json:"allowed"`
	Status  *status `json:"status,omitempty"`
}

type review struct {
	Kind       string    `json:"kind"`
	APIVersion string    `json:"apiVersion"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

func main() {
	listen := flag.String("listen", "127.0.0.1:10261", "address and port")
	certificate := flag.String("certificate", "", "file with the certificate")
	key := flag.String("key", "", "file with its private key")
	pods := flag.String("pods", "", "networks of pods, CIDR, by commas")
	balancers := flag.String("balancers", "load-balancer", "users who give Services addresses, by commas")
	server := flag.String("api", "", "URL of this node's API server")
	authority := flag.String("authority", "", "file with the certificate of its authority")
	folders := flag.String("folders", "", "folder of all volumes on cephfs, as nodes mount it; none where there is none")
	hosts := flag.String("hosts", "", "names of the site that no tenant's Ingress may have, by commas; each with all below it")
	operator := flag.String("platform-user", "", "account that makes the Ingresses of the platform's services")
	domain := flag.String("platform-domain", "", "domain that these are below")
	tell := flag.Bool("version", false, "tell the version")
	flag.Parse()
	if *tell {
		fmt.Println("avadm-admission", version)
		return
	}
	if *server == "" || *authority == "" {
		log.Fatal("-api and -authority: who makes volumes is held to what the API server knows of them")
	}
	asked := policy{balancers: map[string]bool{}, folders: *folders, platformUser: *operator, platformDomain: *domain}
	for _, text := range strings.Split(*pods, ",") {
		_, network, err := net.ParseCIDR(text)
		if err != nil {
			log.Fatalf("-pods: %v", err)
		}
		asked.pods = append(asked.pods, network)
	}
	for _, name := range strings.Split(*hosts, ",") {
		if name != "" {
			asked.hosts = append(asked.hosts, strings.ToLower(name))
		}
	}
	for _, name := range strings.Split(*balancers, ",") {
		asked.balancers[name] = true
	}
	log.SetFlags(0)
	pair, err := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil {
		log.Fatal(err)
	}
	if asked.find, err = reader(*server, *authority, pair); err != nil {
		log.Fatalf("-authority: %v", err)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	served := &http.Server{
		Handler:           handler(asked),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       20 * time.Second,
		WriteTimeout:      20 * time.Second,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	ready()
	log.Fatal(served.ServeTLS(listener, "", ""))
}

// handler answers reviews at /review, and whether it is there at /healthz.
func handler(asked policy) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/review", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largest))
		var given review
		if err == nil {
			err = json.Unmarshal(body, &given)
		}
		if err == nil && given.Request == nil {
			err = fmt.Errorf("no request in the review")
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := &response{UID: given.Request.UID, Allowed: true}
		if refusal := asked.judge(*given.Request); refusal != nil {
			answer.Allowed, answer.Status = false, refusal
			log.Printf("refused %s: %s of %s: %s", given.Request.UserInfo.Username, given.Request.Operation,
				given.Request.Resource.Resource, refusal.Message)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review{"AdmissionReview", "admission.k8s.io/v1beta1", nil, answer}); err != nil {
			log.Print(err)
		}
	})
	return mux
}

// ready tells systemd that it serves.
func ready() {
	if path := os.Getenv("NOTIFY_SOCKET"); path != "" {
		if c, err := net.Dial("unixgram", path); err == nil {
			_, _ = c.Write([]byte("READY=1"))
			_ = c.Close()
		}
	}
}
