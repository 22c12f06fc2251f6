# A formula for Homebrew. Its structure was checked, but it was never installed, and Holdfast was
# never built on macOS.
#
# 'make dist' makes the formula of a release from this file. It writes the version, and the address and
# the checksum of the release's sources, which have the version and the commit in them.
class Holdfast < Formula
  desc "Caching HTTP gateway that responds while its origin is down"
  homepage "https://holdfast.example"
  version "1.0.0-rc.1"
  url "https://holdfast.example/releases/holdfast-#{version}-source.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on xcode: ["26.0", :build]
  depends_on "libnghttp2"
  depends_on macos: :sequoia
  uses_from_macos "sqlite"
  uses_from_macos "zlib"

  def install
    ["holdfast", "cache-dump"].each do |tool|
      system "swift", "build", "--disable-sandbox", "--configuration", "release", "--product", tool
      bin.install ".build/release/#{tool}"
      generate_completions_from_executable(bin/tool, "--generate-completion-script")
    end
    etc.install "Packaging/debian/holdfast.yaml" => "holdfast.yaml"
  end

  service do
    run [opt_bin/"holdfast", "serve", "--config", etc/"holdfast.yaml", "--store", var/"holdfast/store"]
    keep_alive true
    log_path var/"log/holdfast.log"
    error_log_path var/"log/holdfast.log"
  end

  test do
    assert_equal version.to_s, shell_output("#{bin}/holdfast --version").strip
    system bin/"holdfast", "check", "--config", etc/"holdfast.yaml"
  end
end
