#!/usr/bin/env bash
# tests/vm/image.sh: makes build/vm/{base.img,vmlinuz,initrd}: Debian 12 with its kernel and systemd,
# which mounts a second disk and runs guest.sh from there. Made once; needs root for debootstrap.
set -euo pipefail
cd "$(dirname "$0")/../.."

kPackages=systemd-sysv,dbus,dbus-user-session,libpam-systemd,linux-image-cloud-amd64,python3,procps
kSizeMebibytes=3000
out=build/vm
stamp=$(cat "$0" | sha256sum | cut -c 1-16)
[[ ! -f $out/stamp || $(<"$out/stamp") != "$stamp" ]] || exit 0

rm -rf "$out"
mkdir -p "$out"
root=$out/root
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 2>/dev/null |
  grep -v security | head -n 1)
echo "making the guest's disk with debootstrap (once, about a minute)"
debootstrap --variant=minbase --include=$kPackages bookworm "$root" ${mirror:+"$mirror"} \
  >"$out/debootstrap.log" 2>&1 || {
  tail -n 20 "$out/debootstrap.log"
  exit 1
}
chroot "$root" useradd -m -s /bin/bash plain
chroot "$root" passwd -q -d root
echo guest >"$root/etc/hostname"
echo '127.0.0.1 localhost guest' >"$root/etc/hosts"
echo '/dev/vda / ext4 defaults 0 1' >"$root/etc/fstab"
cat >"$root/etc/systemd/system/guest-test.service" <<'UNIT'
[Unit]
Description=What tests/vm/run asked for
After=multi-user.target dbus.service systemd-logind.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'mkdir -p /payload && mount /dev/vdb /payload && exec bash /payload/guest.sh'
ExecStopPost=/bin/systemctl --no-block --force poweroff
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
[Install]
WantedBy=graphical.target
UNIT
chroot "$root" systemctl -q enable guest-test.service
chroot "$root" systemctl -q set-default graphical.target
chroot "$root" systemctl -q mask serial-getty@ttyS0.service getty@tty1.service apt-daily.timer \
  apt-daily-upgrade.timer
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
cp "$root"/boot/vmlinuz-* "$out/vmlinuz"
cp "$root"/boot/initrd.img-* "$out/initrd"
truncate -s "${kSizeMebibytes}M" "$out/base.img"
/sbin/mke2fs -q -t ext4 -d "$root" "$out/base.img"
rm -rf "$root"
echo "$stamp" >"$out/stamp"
