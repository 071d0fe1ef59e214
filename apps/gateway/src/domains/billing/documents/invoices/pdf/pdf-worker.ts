import { parentPort, workerData } from 'node:worker_threads'
import { drawInvoice } from './draw-invoice.ts'
import type { PdfAnswer, PdfOrder } from './pdf-maker.ts'

const { page, language } = workerData as PdfOrder

try {
  answer({ bytes: await drawInvoice(page, language) })
} catch (error) {
  answer({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}

function answer(said: PdfAnswer): void {
  parentPort?.postMessage(said)
}
