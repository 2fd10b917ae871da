#!/usr/bin/env ruby
# frozen_string_literal: true

# Prints a month of finds as a Markdown table.
#
#   sqlite3 -csv -header build/finds.db 'SELECT * FROM find_density' > finds.csv
#   ruby tools/summarise.rb finds.csv 2024-03

require "csv"

KINDS = %w[wood rope float bottle other].freeze

# One line of the view find_density.
Find = Struct.new(:beach, :day, :kind, :amount, keyword_init: true) do
  def self.from_row(row)
    kind = row.fetch("kind")
    raise ArgumentError, "unknown kind #{kind.inspect}" unless KINDS.include?(kind)

    new(
      beach: row.fetch("beach"),
      day: row.fetch("day"),
      kind: kind,
      amount: Integer(row.fetch("amount"), 10)
    )
  end

  def month
    day[0, 7]
  end
end

# Adds up finds by beach and kind.
class Summary
  def initialize
    @amounts = Hash.new { |hash, beach| hash[beach] = Hash.new(0) }
    @days = Hash.new { |hash, beach| hash[beach] = [] }
  end

  def add(find)
    @amounts[find.beach][find.kind] += find.amount
    @days[find.beach] |= [find.day]
    self
  end

  def empty?
    @amounts.empty?
  end

  def to_markdown
    rows = @amounts.keys.sort.map { |beach| row(beach) }
    [header, rule, *rows, total].map { |cells| "| #{cells.join(" | ")} |" }.join("\n")
  end

  private

  def header
    ["Beach", "Walks", *KINDS.map(&:capitalize)]
  end

  def rule
    ["---", *Array.new(KINDS.size + 1, "---:")]
  end

  def row(beach)
    # TODO: two walks on one day count once; the view has no walk number.
    [beach, @days[beach].size, *KINDS.map { |kind| @amounts[beach][kind] }]
  end

  def total
    sums = KINDS.map { |kind| @amounts.values.sum { |by_kind| by_kind[kind] } }
    ["**Total**", @days.values.sum(&:size), *sums]
  end
end

def main(argv)
  path, month = argv
  unless argv.size == 2 && month.match?(/\A\d{4}-\d{2}\z/)
    warn "usage: summarise.rb FINDS.csv YYYY-MM"
    return 2
  end

  summary = Summary.new
  CSV.foreach(path, headers: true).with_index(2) do |row, line|
    find = Find.from_row(row)
    summary.add(find) if find.month == month
  rescue ArgumentError, KeyError => error
    warn "#{path}:#{line}: error: #{error.message}"
    return 1
  end

  puts summary.empty? ? "No finds in #{month}." : summary.to_markdown
  0
rescue SystemCallError => error
  warn "summarise.rb: #{error.message}"
  1
end

exit main(ARGV) if $PROGRAM_NAME == __FILE__
