// Opens a report in headless Chromium, light and dark, clicks through it, and prints what it saw as one line of JSON.
import { pathToFileURL } from "node:url";
import chromium from "@sparticuz/chromium";
import { launch } from "puppeteer-core";

const [report, pictures] = process.argv.slice(2);
const browser = await launch({ args: chromium.args, executablePath: await chromium.executablePath(), headless: "shell" });
const seen = {};
for (const scheme of ["light", "dark"]) {
  const page = await browser.newPage();
  const asked = [], said = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.setViewport({ width: 1200, height: 900 });
  await page.goto(pathToFileURL(report).href);

  const texts = (selector) => page.$$eval(selector, (found) => found.map((each) => each.textContent));
  const paper = () => page.$eval("body", (body) => getComputedStyle(body).backgroundColor);
  const count = async (selector) => (await page.$$(selector)).length;
  const chosen = () => page.$eval("#policy", (select) => select.selectedOptions[0].textContent);
  const chart = async () => ({
    session: await page.$eval("#session", (select) => select.selectedOptions[0].textContent),
    policy: await chosen(),
    words: (await texts("#call"))[0],
    calls: await count("#chart rect.hit"),
    cuts: await count("#chart circle.tip"),
    needs: await count("#needs tbody tr"),
  });
  const facts = { rows: await texts("tbody th[scope=row]"), dots: await count("svg .dot"), names: await texts("svg .name") };
  facts.paper = await paper();
  facts.first = await chart();
  await page.screenshot({ path: `${pictures}/${scheme}.png`, fullPage: true });

  await page.select("#policy", "2");
  facts.other = await chart();
  const bars = await page.$$("#chart rect.hit");
  await bars.at(-1).hover();
  facts.hovered = (await texts("#call"))[0];
  await page.focus("#policy");
  for (const key of ["Tab", "Tab"]) await page.keyboard.press(key);
  facts.focused = (await texts("#call"))[0];
  await bars[2].click();
  facts.clicked = (await texts("#call"))[0];
  await page.select("#session", "1");
  facts.second = await chart();

  await page.click("#theme");
  facts.switched = await paper();
  await page.click("#theme");
  facts.back = await paper();

  facts.wider = {};
  for (const width of [1200, 390]) {
    await page.setViewport({ width, height: 900 });
    facts.wider[width] = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  }
  await page.screenshot({ path: `${pictures}/${scheme}-narrow.png`, fullPage: true });
  seen[scheme] = { ...facts, asked: asked.filter((url) => !url.startsWith("file:")), said };
  await page.close();
}
await browser.close();
console.log(JSON.stringify(seen));
