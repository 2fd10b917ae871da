import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Makes a grid file for the drift model from measured currents.
 *
 * <p>The input is a CSV file with the columns {@code x,y,east,north}: a place in metres and the
 * current there in metres per second. Every cell of the grid gets the mean of the measurements
 * near it, each weighted by the inverse square of its distance.
 *
 * <p>Usage: {@code java GridImport.java WIDTH HEIGHT CELL INPUT.csv > OUTPUT.grid}
 */
public final class GridImport {
    /** Measurements further away than this many cells do not count. */
    private static final double REACH = 5.0;

    record Sample(double x, double y, double east, double north) {}

    record Current(double east, double north) {}

    static final class InputException extends Exception {
        private static final long serialVersionUID = 1L;

        InputException(Path file, int line, String reason) {
            super(file + ":" + line + ": error: " + reason);
        }
    }

    private final int width;
    private final int height;
    private final double cell;
    private final List<Sample> samples;

    GridImport(int width, int height, double cell, List<Sample> samples) {
        if (width < 1 || width > 4096 || height < 1 || height > 4096) {
            throw new IllegalArgumentException("width and height must be between 1 and 4096");
        }
        if (!(cell > 0)) {
            throw new IllegalArgumentException("the cell size must be above zero");
        }
        this.width = width;
        this.height = height;
        this.cell = cell;
        this.samples = List.copyOf(samples);
    }

    static List<Sample> read(Path file) throws IOException, InputException {
        var samples = new ArrayList<Sample>();
        var lines = Files.readAllLines(file, StandardCharsets.UTF_8);
        for (int i = 0; i < lines.size(); i++) {
            var line = lines.get(i).strip();
            if (line.isEmpty() || line.startsWith("#") || (i == 0 && line.startsWith("x,"))) {
                continue;
            }
            var fields = line.split(",", -1);
            if (fields.length != 4) {
                throw new InputException(file, i + 1, "expected 4 fields, got " + fields.length);
            }
            try {
                samples.add(
                        new Sample(
                                Double.parseDouble(fields[0]),
                                Double.parseDouble(fields[1]),
                                Double.parseDouble(fields[2]),
                                Double.parseDouble(fields[3])));
            } catch (NumberFormatException e) {
                throw new InputException(file, i + 1, "not a number: " + e.getMessage());
            }
        }
        return samples;
    }

    /** The weighted mean around the centre of a cell, or null if nothing is near. */
    Current at(int column, int row) {
        double x = (column + 0.5) * cell;
        double y = (row + 0.5) * cell;
        double limit = REACH * cell * REACH * cell;
        double weights = 0;
        double east = 0;
        double north = 0;
        // FIXME: looks at every sample for every cell; sort them into buckets.
        for (var sample : samples) {
            double dx = sample.x() - x;
            double dy = sample.y() - y;
            double square = dx * dx + dy * dy;
            if (square > limit) {
                continue;
            }
            double weight = 1 / Math.max(square, 1);
            weights += weight;
            east += weight * sample.east();
            north += weight * sample.north();
        }
        return weights == 0 ? null : new Current(east / weights, north / weights);
    }

    void write(PrintStream out) {
        out.printf(Locale.ROOT, "drift %d %d %s%n", width, height, cell);
        for (int row = 0; row < height; row++) {
            out.printf("# row %d%n", row);
            for (int column = 0; column < width; column++) {
                var current = at(column, row);
                if (current == null) {
                    out.println("land");
                } else {
                    out.printf(Locale.ROOT, "%.4f %.4f%n", current.east(), current.north());
                }
            }
        }
    }

    public static void main(String[] args) {
        if (args.length != 4) {
            System.err.println("usage: java GridImport.java WIDTH HEIGHT CELL INPUT.csv");
            System.exit(2);
        }
        try {
            var samples = read(Path.of(args[3]));
            var width = Integer.parseInt(args[0]);
            var height = Integer.parseInt(args[1]);
            var grid = new GridImport(width, height, Double.parseDouble(args[2]), samples);
            grid.write(System.out);
        } catch (IOException | InputException | IllegalArgumentException e) {
            System.err.println("GridImport: " + e.getMessage());
            System.exit(1);
        }
    }
}
