// Datasets and models: versions, files, what came of what.
import {readFileSync} from "node:fs";

import {equal, truth, until} from "../story.mjs";
import {as, data, people, shows} from "../world.mjs";

export function prepare(server) {
  people(server);
  data(server);
}

export const stories = {
  "a dataset's files are seen by what they are": async (story) => {
    const page = await story.signIn();
    await page.getByRole("link", {name: "Data", exact: true}).click();
    await page.getByRole("link", {name: "clothes"}).click();
    await page.getByRole("heading", {name: /clothes/}).waitFor();
    await page.getByRole("link", {name: "Files of version 2"}).click();
    await page.getByRole("button", {name: /labels.csv/}).click();
    await page.getByRole("cell", {name: "shirt"}).waitFor();
    await page.getByRole("button", {name: /green.png/}).click();
    const picture = page.getByRole("img", {name: "train/green.png"});
    await picture.waitFor();
    await until(() => picture.evaluate((image) => image.naturalWidth === 8), "the picture is drawn");
    // What somebody put into a file is text.
    await page.getByRole("button", {name: /notes.txt/}).click();
    await shows(page.getByRole("region", {name: "notes.txt"}), "<img src=x onerror=alert(1)>");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", {name: "Download"}).click()]);
    equal(download.suggestedFilename(), "notes.txt");
    equal(readFileSync(await download.path(), "utf8"), "<img src=x onerror=alert(1)>\n");
    // An older version is as it was.
    await page.getByLabel("version").selectOption("1");
    await page.getByRole("button", {name: /notes.txt/}).waitFor({state: "detached"});
    truth(page.url().includes("version=1"), "the version is not in the address");
  },

  "a dataset says how to use it, and what came of it": async (story) => {
    const page = await story.signIn();
    await story.go("/datasets/clothes?project=vision");
    await shows(page.getByRole("region", {name: "How to use it"}), "datasets: [{name: clothes@latest, at: data}]");
    await story.go("/datasets/clothes/lineage?project=vision&version=1");
    await page.getByRole("link", {name: /digits@2/}).click();
    await page.getByRole("heading", {name: /digits/}).waitFor();
  },

  "a model's versions stand beside each other": async (story) => {
    const page = await story.signIn();
    await page.getByRole("link", {name: "Models", exact: true}).click();
    await page.getByRole("row", {name: /digits/}).getByText("prod").waitFor();
    await page.getByRole("link", {name: "digits"}).click();
    await page.getByRole("link", {name: "Compare 2"}).click();
    const row = page.getByRole("row", {name: /^accuracy/});
    await row.waitFor();
    equal(await row.getByRole("cell").allTextContents(), ["0.93", "0.81"], "accuracy of 2 and 1");
    await page.getByRole("row", {name: /lr parameter/}).waitFor();
    await page.getByRole("img", {name: /^accuracy/}).waitFor();
    await page.getByRole("link", {name: "Versions"}).click();
    await page.getByLabel("Compare version 2").uncheck();
    await page.getByRole("link", {name: "Compare 1"}).waitFor();
  },

  "an alias is pointed elsewhere, and taken away": async (story, server) => {
    const page = await story.signIn();
    await story.go("/models/digits?project=vision");
    await shows(page.getByRole("region", {name: "How to get it"}), "hearth model get digits@prod --project vision");
    await page.getByRole("button", {name: "Aliases of version 2"}).click();
    await page.getByRole("menuitem", {name: "Point an alias here…"}).click();
    await page.getByLabel("Alias", {exact: true}).fill("prod");
    await page.getByText("It points at version 1 now").waitFor();
    await page.getByRole("button", {name: "Point it there"}).click();
    await page.getByRole("row", {name: /2 prod/}).waitFor();
    equal(server.json("model", "show", "digits@prod", "--project", "vision").number, 2);
    await page.getByRole("button", {name: "Aliases of version 2"}).click();
    await page.getByRole("menuitem", {name: "Take prod away…"}).click();
    await page.getByRole("button", {name: "Take it away"}).click();
    await page.getByRole("row", {name: /2 prod/}).waitFor({state: "detached"});
    server.hearth("model", "alias", "digits", "prod", "1", "--project", "vision");
    await page.getByRole("row", {name: /1 prod/}).waitFor();
  },

  "a model's file is seen and fetched": async (story) => {
    const page = await story.signIn();
    await story.go("/models/digits/files?project=vision&version=prod");
    await shows(page.getByRole("region", {name: "model.txt"}), "weights 0.81");
    await page.getByLabel("version").selectOption("2");
    await shows(page.getByRole("region", {name: "model.txt"}), "weights 0.93");
  },

  "who only looks is offered no change": async (story, server) => {
    const page = await as(story, server, "ann");
    await story.go("/models/digits?project=vision");
    await page.getByRole("button", {name: "Aliases of version 2"}).waitFor();
    await story.context.close();
    story.expect(/404/);
    const other = await as(story, server, "bob");
    await story.go("/models/digits?project=vision");
    await other.getByRole("alert").getByText("there is no project 'vision'").waitFor();
  },

  "what there is not yet teaches the next step": async (story) => {
    const page = await story.signIn();
    await story.go("/models?project=speech");
    await page.getByText("Only those of the project speech").waitFor();
    await story.go("/datasets?filter=name+%3D+nothing");
    await page.getByRole("button", {name: "Show all"}).click();
    await page.getByRole("link", {name: "clothes"}).waitFor();
  },

  "data and models are there for eyes, hands and readers, in both themes": async (story) => {
    const paths = ["/models", "/models/digits?project=vision", "/models/digits/compare?project=vision",
                   "/models/digits/files?project=vision", "/models/digits/lineage?project=vision", "/datasets",
                   "/datasets/clothes?project=vision", "/datasets/clothes/files?project=vision",
                   "/datasets/clothes/lineage?project=vision&version=1"];
    await story.everywhere(paths);
  },
};
