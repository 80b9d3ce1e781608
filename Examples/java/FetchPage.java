import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** Fetches a protected page with the ticket in the user's credential cache, and checks the text of the page. */
public class FetchPage {
    public static void main(String[] arguments) throws Exception {
        var url = URI.create(System.getenv("KSSO_REALM_URL") + "/hello").toURL();
        var connection = (HttpURLConnection) url.openConnection();
        var page = new String(connection.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        System.out.println(connection.getResponseCode() + " " + page);
        if (!page.equals("Hello alice@EXAMPLE.TEST")) System.exit(1);
    }
}
