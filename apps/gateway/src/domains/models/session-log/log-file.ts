import type { Readable } from 'node:stream'
import type { Language } from '@berth/contract/limits'
import { microDecimal } from '@berth/contract/money'
import type { LoggedCall } from '@berth/contract/session-log'
import type { Clock } from '../../../platform/clock.ts'
import type { Catalogue } from '../../../platform/config/catalogue.ts'
import { CSV_PAGE_ROWS, csvBody, harmless } from '../../../platform/csv-file.ts'
import type { Database } from '../../../platform/database/database.ts'
import { type LogFilter, type LogRow, placeOf, readCalls, type SayName, toLogged } from './session-log.ts'

/** The columns of the log as a file, in their order, and its head. */
const HEADS = {
  en: {
    started_at: 'Started (UTC)',
    model: 'Model',
    model_name: 'Model name',
    source: 'Made by',
    key: 'Key',
    status: 'Status',
    error: 'Error',
    streamed: 'Streamed',
    latency: 'Latency, ms',
    first_token: 'Time to first token, ms',
    input: 'Tokens in',
    cached: 'Of those cached',
    output: 'Tokens out',
    images: 'Pictures',
    video_seconds: 'Seconds of video',
    estimated: 'Estimated',
    cost: 'Cost',
    currency: 'Currency',
    id: 'Call',
  },
  zh: {
    started_at: '开始时间（UTC）',
    model: '模型',
    model_name: '模型名称',
    source: '调用方式',
    key: '密钥',
    status: '状态',
    error: '错误',
    streamed: '流式',
    latency: '耗时（毫秒）',
    first_token: '首个 token 耗时（毫秒）',
    input: '输入 token',
    cached: '其中命中缓存',
    output: '输出 token',
    images: '图片（张）',
    video_seconds: '视频（秒）',
    estimated: '估算',
    cost: '费用',
    currency: '货币',
    id: '调用编号',
  },
  ja: {
    started_at: '開始（UTC）',
    model: 'モデル',
    model_name: 'モデル名',
    source: '呼び出し元',
    key: 'キー',
    status: '状態',
    error: 'エラー',
    streamed: 'ストリーミング',
    latency: '所要時間（ミリ秒）',
    first_token: '最初のトークンまで（ミリ秒）',
    input: '入力トークン',
    cached: 'うちキャッシュ',
    output: '出力トークン',
    images: '画像（枚）',
    video_seconds: '動画（秒）',
    estimated: '推定',
    cost: '料金',
    currency: '通貨',
    id: '呼び出し ID',
  },
  ko: {
    started_at: '시작(UTC)',
    model: '모델',
    model_name: '모델 이름',
    source: '호출 방식',
    key: '키',
    status: '상태',
    error: '오류',
    streamed: '스트리밍',
    latency: '소요 시간(ms)',
    first_token: '첫 토큰까지(ms)',
    input: '입력 토큰',
    cached: '그중 캐시',
    output: '출력 토큰',
    images: '이미지(장)',
    video_seconds: '동영상(초)',
    estimated: '추정',
    cost: '비용',
    currency: '통화',
    id: '호출 ID',
  },
} as const satisfies Record<Language, Record<string, string>>
type Column = keyof (typeof HEADS)['en']
const COLUMNS = Object.keys(HEADS.en) as Column[]

/** What was asked and answered is in no file. */
const NONE_KEPT: ReadonlySet<string> = new Set()

interface LogFileDeps {
  db: Database
  clock: Clock
  catalogue: Pick<Catalogue, 'models'>
}

/**
 * A customer's calls as CSV, newest first: the rows that the list shows with the same filter, by the same query, read page
 * by page as they are taken.
 * @returns What it is called, and its text; destroy it to end it.
 */
export async function openLogFile(
  { db, clock, catalogue }: LogFileDeps,
  userId: string,
  filter: LogFilter,
  { language, say, currency }: { language: Language; say: SayName; currency: string },
): Promise<{ name: string; body: Readable }> {
  const pageAfter = (last: LogRow | null) =>
    readCalls(db, userId, filter, { limit: CSV_PAGE_ROWS, after: last && placeOf(last) })
  const body = csvBody<LogRow>({
    head: COLUMNS.map(column => HEADS[language][column]),
    first: await pageAfter(null),
    next: pageAfter,
    cellsOf: row => cellsOf(toLogged(row, { models: catalogue.models, say, kept: NONE_KEPT }), currency),
  })
  return { name: `session-logs-${clock.now().toISOString().slice(0, 10)}.csv`, body }
}

function cellsOf(call: LoggedCall, currency: string): string[] {
  const cells: Record<Column, string> = {
    started_at: call.started_at,
    model: harmless(call.model_id),
    model_name: harmless(call.model_name),
    source: call.source,
    key: harmless(call.key_name ?? ''),
    status: call.status,
    error: call.error_code ?? '',
    streamed: call.streamed ? 'yes' : 'no',
    latency: call.latency_ms === null ? '' : String(call.latency_ms),
    first_token: call.first_token_ms === null ? '' : String(call.first_token_ms),
    input: String(call.input_tokens),
    cached: String(call.cached_tokens),
    output: String(call.output_tokens),
    images: String(call.images),
    video_seconds: String(call.video_seconds),
    estimated: call.estimated ? 'yes' : 'no',
    cost: microDecimal(BigInt(call.cost_micro)),
    currency,
    id: call.id,
  }
  return COLUMNS.map(column => cells[column])
}
