import { expect, test } from 'vitest'
import { listNvidiaGpus, parseNvidiaInformation, parseNvidiaSample, parseNvidiaSmi } from './nvidia.ts'

test('what nvidia-smi lists is read as name, MiB and uuid', () => {
  const csv =
    'NVIDIA GeForce RTX 4090, 24564, GPU-5e0a1c2d-1111-2222-3333-444455556666\n' +
    'NVIDIA A100-SXM4-80GB, 81920, GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee\n'
  expect(parseNvidiaSmi(csv)).toEqual([
    { name: 'NVIDIA GeForce RTX 4090', memory_mb: 24564, uuid: 'GPU-5e0a1c2d-1111-2222-3333-444455556666' },
    { name: 'NVIDIA A100-SXM4-80GB', memory_mb: 81920, uuid: 'GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee' },
  ])
})

test('what a card does is read as percent and MiB, and what it does not tell is null', () => {
  const csv = 'GPU-aaaa, 37, 1024\nGPU-bbbb, [N/A], [Not Supported]\nNo devices were found\nGPU-cccc, 1\n'
  expect(parseNvidiaSample(csv)).toEqual([
    { uuid: 'GPU-aaaa', busy_percent: 37, memory_used_mb: 1024 },
    { uuid: 'GPU-bbbb', busy_percent: null, memory_used_mb: null },
  ])
})

test.each([
  '',
  'No devices were found\n',
  'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.\n',
  'NVIDIA A100, [N/A], GPU-aaaa\n',
  'NVIDIA A100, 81920, \n',
])('what is no card is left out: %j', csv => {
  expect(parseNvidiaSmi(csv)).toEqual([])
})

test('a card’s number is read from what the kernel’s driver tells', () => {
  const text =
    'Model: \t\t NVIDIA A100\nIRQ:   \t\t 42\nGPU UUID: \t GPU-aaaaaaaa-bbbb\nBus Type: \t PCIe\nDevice Minor: \t 3\n'
  expect(parseNvidiaInformation(text)).toEqual({ uuid: 'GPU-aaaaaaaa-bbbb', minor: 3 })
  expect(parseNvidiaInformation('Model: NVIDIA A100\n')).toBeNull()
})

test('a computer without the vendor’s tool has no real GPUs', async () => {
  expect(Array.isArray(await listNvidiaGpus())).toBe(true)
})
