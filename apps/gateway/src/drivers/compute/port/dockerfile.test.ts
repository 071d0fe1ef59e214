import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DockerfileError, parseDockerfile, referencesOf } from './dockerfile.ts'

// Goal: every image that a build takes anything of is known beforehand, and what could be read in two ways is refused.

test('[R1.2] images, stages and arguments are read as Docker reads them', () => {
  const stages = parseDockerfile(
    '\ufeff# a comment\r\nARG TAG=12\r\nARG BASE="debian:\u0024{TAG}"\r\nfrom \u0024{BASE} as First\r\nRUN a \\\r\n\r\n  # between\r\n  b\r\n' +
      'FROM \u0024{NONE:-alpine}\nCOPY --from=FIRST /a /b\nCOPY --from=0 --chown=1:2 ["a b", "/c"]\nCOPY --from=busybox:1 /x /y\nFROM scratch\n',
  )
  expect(stages.map(({ base }) => base)).toEqual([
    { reference: 'debian:12' },
    { reference: 'alpine' },
    'scratch',
  ])
  expect(stages[0]?.steps.map(({ deed }) => deed)).toEqual([{ kind: 'run', script: 'a   b' }])
  expect(stages[1]?.steps.map(({ deed }) => deed)).toMatchObject([
    { from: { stage: 0 }, words: '/a /b' },
    { from: { stage: 0 }, flags: ['--chown=1:2'], words: '["a b", "/c"]' },
    { from: { reference: 'busybox:1' } },
  ])
  expect(referencesOf(stages)).toEqual(['debian:12', 'alpine', 'busybox:1'])
})

test.each([
  ['', 'no FROM'],
  ['RUN x', 'before FROM'],
  ['FROM $X', 'no value'],
  ['FROM ../x', 'no image'],
  ['FROM a\nADD http://169.254.169.254/ /x', 'ADD is not offered'],
  ['FROM a\nONBUILD RUN x', 'ONBUILD'],
  ['FROM a\nCOPY --fr\\om=b /x /y', 'cannot be read'],
  ['FROM a\nCOPY --from="b" /x /y', 'cannot be read'],
  ['FROM a\nCOPY \u0085--from=b /x /y', 'not shown'],
  ['FROM a\nCOPY \u00a0--from=b /x /y', 'not shown'],
  ['FROM a\nCOPY\u2003--from=$b /x /y', 'cannot be read'],
  ['FROM a\nCOPY --from=1 /x /y', 'no stage'],
  ['FROM a\nCOPY --from=0 /x /y', 'no stage'],
  ['FROM a\nRUN --mount=type=bind,from=b x', 'not offered'],
  ['FROM a\nRUN --network=host x', 'not offered'],
  ['FROM a\nLABEL berth.build=x', 'LABEL'],
  ['FROM a\nLABEL $A=x', 'LABEL'],
  ['# escape=`\nFROM a', 'escape'],
  ['FROM a\nRUN x \\', 'goes on'],
  ['FROM a\nCOPY \\ \\\n', 'goes on'],
  ['FROM a\nRUN <<EOF\nx', 'no end'],
  ['FROM --platform=windows/amd64 a', 'only images for'],
  ['FROM a\nFETCH x', 'not known'],
  [`FROM a\n${'RUN x\n'.repeat(101)}`, 'more than 100'],
  ['FROM a\n'.repeat(11), 'more than 10'],
])('[R6.4] %j is refused: %s', (text, why) => {
  expect(() => parseDockerfile(text)).toThrow(why)
})

test('[R6.4] whatever is written, nothing is left that leads to an image which is not told', () => {
  const piece = fc.constantFrom(
    ...[
      'FROM a\n',
      'COPY ',
      '--from=',
      'b',
      '\\',
      '\n',
      ' ',
      '"',
      '$',
      'RUN ',
      '<<EOF',
      'EOF\n',
      '\t',
      '# ',
      'ARG X=',
      '\u2003',
      '[',
      ']',
    ],
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
      try {
        const stages = parseDockerfile(`FROM a\n${pieces.join('')}`)
        const told = referencesOf(stages)
        for (const { deed } of stages.flatMap(({ steps }) => steps)) {
          const words = deed.kind === 'copy' || deed.kind === 'plain' ? deed.words : ''
          expect(words).not.toMatch(/^\s*--|[\n\r]|\\$/)
          if (deed.kind === 'copy' && deed.from && 'reference' in deed.from)
            expect(told).toContain(deed.from.reference)
        }
      } catch (error) {
        expect(error).toBeInstanceOf(DockerfileError)
      }
    }),
    { numRuns: 2_000 },
  )
})
