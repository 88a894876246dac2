# Sourced by what runs the page's tools: the Node that tools/build_page.sh installed, in front.
export PATH=$PWD/build/tools/node/bin:$PATH
# Node brings its own list of authorities; a network may have one more, which Debian knows.
kAuthorities=/etc/ssl/certs/ca-certificates.crt
if [[ -z ${NODE_EXTRA_CA_CERTS:-} && -f $kAuthorities ]]; then export NODE_EXTRA_CA_CERTS=$kAuthorities; fi
