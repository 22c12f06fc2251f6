# Functions for Swift sources that the scripts in Perl share. This file is loaded, never run.
use strict;
use warnings;

sub blank {
    my ($text) = @_;
    $text =~ s/[^\n]/ /g;
    return $text;
}

# Returns only the code: replaces comments and strings with blanks and keeps the line breaks.
# Interpolated values stay, because "\(names[0])" is code too.
sub code {
    my ($source) = @_;
    my $result = '';
    # The enclosing strings and values of the current position: a string's quotes, or the number of
    # a value's open parentheses.
    my @inside;
    while ($source !~ /\G\z/gc) {
        if (@inside && $inside[-1] =~ /^"/) {
            if ($source =~ /\G\\\(/gc) { push @inside, 0; $result .= ' (' }
            elsif ($source =~ /\G\\./gcs) { $result .= blank($&) }
            elsif ($source =~ /\G\Q$inside[-1]\E/gc) { $result .= blank($&); pop @inside }
            else { $source =~ /\G(?:[^"\\]+|.)/gcs; $result .= blank($&) }
        } elsif ($source =~ m{\G//[^\n]*}gc || $source =~ m{\G/\*.*?\*/}gcs
            || $source =~ /\G(#+)""".*?"""\g1/gcs || $source =~ /\G(#+)"[^\n]*?"\g1/gc) {
            $result .= blank($&);
        } elsif ($source =~ /\G(?:"""|")/gc) { push @inside, $&; $result .= blank($&) }
        elsif (@inside && $source =~ /\G\(/gc) { $inside[-1]++; $result .= '(' }
        elsif (@inside && $source =~ /\G\)/gc) {
            $result .= ')';
            if ($inside[-1]-- == 0) { pop @inside }
        } else {
            # Parentheses matter only in a value that is interpolated.
            my $rest = @inside ? qr{[^"/#()]+|.}s : qr{[^"/#]+|.}s;
            $source =~ /\G(?:$rest)/gc;
            $result .= $&;
        }
    }
    return $result;
}

1;
