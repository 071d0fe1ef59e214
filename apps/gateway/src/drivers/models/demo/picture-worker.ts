import { parentPort, workerData } from 'node:worker_threads'
import { encode } from 'fast-png'
import type { PictureAnswer, PictureOrder } from './demo-pictures.ts'
import { drawPicture } from './draw-picture.ts'

const order = workerData as PictureOrder

try {
  const { width, height, model } = order
  const text = {
    Software: 'Berth',
    Comment: `Drawn by Berth itself, not by ${model}: no model is connected.`,
  }
  answer({ bytes: encode({ width, height, data: drawPicture(order), channels: 3, depth: 8, text }) })
} catch (error) {
  answer({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}

function answer(said: PictureAnswer): void {
  parentPort?.postMessage(said)
}
