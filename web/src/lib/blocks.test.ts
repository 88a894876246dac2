import {expect, test} from "vitest";

import {Blocks, kBlock} from "./blocks";

interface Asked {
  first: number;
  count: number;
  stop: AbortSignal;
  answer: (rows: number[]) => Promise<void>;
  fail: (error: unknown) => Promise<void>;
}

function made(length: number) {
  const asked: Asked[] = [];
  const told: unknown[] = [];
  const blocks = new Blocks<number>(
    length,
    (first, count, stop) =>
      new Promise((resolve, reject) => {
        const settle = async () => void (await new Promise((go) => setTimeout(go)));
        asked.push({
          first,
          count,
          stop,
          answer: (rows) => (resolve(rows), settle()),
          fail: (error) => (reject(error), settle()),
        });
      }),
    (error) => told.push(error),
  );
  return {blocks, asked, told};
}
const numbers = (first: number, count: number) => Array.from({length: count}, (_, i) => first + i);

test("only what is in sight is fetched, the last block as short as it is", async () => {
  const {blocks, asked, told} = made(kBlock * 10 + 5);
  blocks.want(kBlock * 10 - 3, kBlock * 10 + 40);
  expect(asked.map((one) => [one.first, one.count])).toEqual([
    [kBlock * 9, kBlock],
    [kBlock * 10, 5],
  ]);
  expect(blocks.at(kBlock * 10)).toBeUndefined();
  await asked[1]?.answer(numbers(kBlock * 10, 5));
  expect(blocks.at(kBlock * 10 + 4)).toBe(kBlock * 10 + 4);
  expect(blocks.at(3)).toBeUndefined();
  expect(told).toEqual([undefined]);
});

test("three at once, and what was scrolled past is called off", async () => {
  const {blocks, asked} = made(kBlock * 100);
  blocks.want(0, kBlock * 5);
  expect(asked.length).toBe(3);
  blocks.want(kBlock * 50, kBlock * 50 + 9);
  expect(asked.slice(0, 3).every((one) => one.stop.aborted)).toBe(true);
  expect(asked.length).toBe(4);
  await asked[0]?.answer(numbers(0, kBlock)); // it comes too late
  expect(blocks.at(0)).toBeUndefined();
});

test("what is fetched anew stays to be seen until the new comes", async () => {
  const {blocks, asked} = made(kBlock * 2);
  blocks.put(0, numbers(0, kBlock));
  blocks.want(0, 20);
  expect(asked.length).toBe(0);
  blocks.refresh();
  expect(asked.length).toBe(1);
  expect(blocks.at(7)).toBe(7);
  await asked[0]?.answer(numbers(1000, kBlock));
  expect(blocks.at(7)).toBe(1007);
});

test("what fails is told, and tried again when it is wanted again", async () => {
  const {blocks, asked, told} = made(kBlock);
  blocks.want(0, 9);
  await asked[0]?.fail(new Error("no"));
  expect(String(told[0])).toMatch(/no/);
  blocks.want(0, 9);
  expect(asked.length).toBe(2);
});
