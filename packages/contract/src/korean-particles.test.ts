import { expect, test } from 'vitest'
import { type KoreanParticle, withParticle } from './korean-particles.ts'

test.each<[string, KoreanParticle, string]>([
  // Hangul, by its final consonant.
  ['서버', '을를', '를'],
  ['머신', '을를', '을'],
  ['결제', '으로', '로'],
  ['인스턴스 목록', '으로', '으로'],
  ['파일', '으로', '로'],
  ['파일', '이가', '이'],
  ['카드', '은는', '는'],
  // Digits, as they are read: 0 영, 1 일, 3 삼, 6 육, 7 칠, 8 팔 end on consonants.
  ['vision-0', '을를', '을'],
  ['vision-1', '으로', '로'],
  ['vision-1', '을를', '을'],
  ['vision-2', '이가', '가'],
  ['node3', '은는', '은'],
  ['node4', '은는', '는'],
  ['code 137', '으로', '로'],
  ['H100', '으로', '으로'],
  ['2× RTX 4090', '을를', '을'],
  ['code 255', '으로', '로'],
  // Letters by their names: 엘, 알, 엠, 엔 end on consonants.
  ['GPU', '을를', '를'],
  ['LLM', '을를', '을'],
  ['H100 SXM', '이가', '이'],
  ['URL', '으로', '로'],
  ['node-b', '이가', '가'],
  // Words as Korean writes them: 파인튠, 파일, 구글, 깃허브, 봇, 데스크, 테스트, 서버, 트레이닝.
  ['finetune', '을를', '을'],
  ['file', '으로', '로'],
  ['Google', '으로', '로'],
  ['GitHub', '으로', '로'],
  ['bot', '이가', '이'],
  ['notebook-desk', '이가', '가'],
  ['test', '을를', '를'],
  ['server', '을를', '를'],
  ['training', '은는', '은'],
  ['ines@example.org', '을를', '를'],
  // Amounts end on 달러 or 유로; brackets and dots are not read.
  ['$25.00', '이가', '가'],
  ['€0.10', '은는', '는'],
  ['머신(서울)', '을를', '을'],
  ['bk-abc1…', '을를', '을'],
  ['', '을를', '를'],
])('[R1.9] %s with %s ends in %s', (text, particle, form) => {
  expect(withParticle(text, particle)).toBe(text + form)
})
