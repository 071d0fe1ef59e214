import { expect, test } from 'vitest'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { StepTimedOut } from './deadline.ts'
import { detailFor } from './failure-detail.ts'

const failed = (message: string, cause?: unknown) => new ComputeError('failed', message, { cause })

test.each([
  'the machine answered with exit code 3',
  'starting i-abc: no such image: library/pytorch:2.9',
  'registry https://registry.example.org:5000/v2/ does not answer',
  'the call was given up',
])('what a driver wrote for people is shown: %s', message => {
  expect(detailFor(failed(message))).toBe(message)
})

test.each([
  ["ENOENT: no such file or directory, mkdir '/home/operator/berth/data/machines/i-abc'", ''],
  ["creating: EACCES: permission denied, open '/srv/data/x'", 'creating: …'],
  ['connecting: connect ECONNREFUSED /var/run/docker.sock', 'connecting: connect …'],
  [
    'the machine did not start: bwrap: Can’t mkdir /srv/my-data/x: full',
    'the machine did not start: bwrap: Can’t mkdir …: full',
  ],
  ['invalid mount "/srv/my data/home", src=/srv/x,dst=(/y)', 'invalid mount …, src=…,dst=(…)'],
  ['loading file:///srv/app/index.js', 'loading …'],
  ['it broke\n    at run (/srv/app/index.js:3:1)', 'it broke'],
])('host paths and what the system said are left out of: %s', (message, shown) => {
  const detail = detailFor(failed(message))
  expect(detail).toBe(shown)
  expect(detail).not.toMatch(/srv|operator|docker\.sock|E[A-Z]{4}/)
})

test('words that a driver only passed on stay in the log', () => {
  const cause = new Error('Cannot read properties of undefined')
  expect(detailFor(failed(cause.message, cause))).toBe('')
  expect(detailFor(failed('making the home failed', cause))).toBe('making the home failed')
})

test('a long message is cut, and what is no error says nothing', () => {
  expect(detailFor(failed('a'.repeat(300)))).toHaveLength(200)
  expect(detailFor('/srv/data')).toBe('')
  expect(detailFor(new StepTimedOut(250))).toBe('no answer within 250 ms')
})
