// Rules for the JavaScript of pages: those that ESLint recommends, and some more for mistakes that types do not show.
// `.ci/page` copies this file to where the tools are.

import js from "@eslint/js";
import globals from "globals";

const more = {
  "array-callback-return": "error",
  "default-case-last": "error",
  eqeqeq: "error",
  "no-constructor-return": "error",
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-new-func": "error",
  "no-promise-executor-return": "error",
  "no-self-compare": "error",
  "no-template-curly-in-string": "error",
  "no-throw-literal": "error",
  "no-unmodified-loop-condition": "error",
  "no-unreachable-loop": "error",
  "no-unused-expressions": ["error", { allowTernary: true }],
  "no-unused-vars": ["error", { argsIgnorePattern: "^_", caughtErrors: "none" }],
  "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
  "no-useless-return": "error",
  "no-var": "error",
  "prefer-const": ["error", { destructuring: "all" }],
  "prefer-promise-reject-errors": "error",
};

// The page of the service has variables of its own by names of the window's.
const own = Object.fromEntries(["close", "frames", "status"].map((name) => [name, "off"]));

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2023, sourceType: "script", globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: more,
  },
  { files: ["**/service.js"], languageOptions: { globals: own } },
];
