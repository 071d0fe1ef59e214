/** Why a call of a model failed: no server answered, one refused what was asked, or the answer broke off. */
export const CALL_ERRORS = ['not_answered', 'refused', 'broke_off'] as const
